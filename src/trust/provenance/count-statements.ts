/** Picks the statements about an image that count: those of trusted signers, or all if no signature is asked for. */

import type { Subject } from "../evidence.ts";
import { ImgmatchError, type Problem } from "../../errors.ts";
import { exitCodes } from "../../problem-codes.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { EvidenceReader } from "../evidence-reader.ts";
import { findEvidence } from "../find-evidence.ts";
import { describeTrusted, type TrustedSigner } from "../trusted-signers.ts";
import { type VerifyEvidenceOptions, verifyEvidence } from "../verify-evidence.ts";
import { type AttestedBuild, provenanceTypes } from "./attested-build.ts";
import type { FoundProvenance, ProvenanceFindings } from "./find-provenance.ts";

export interface CountOptions extends Pick<VerifyEvidenceOptions, "publicRoot"> {
  readonly registry: EvidenceReader;
  /** Lists of trusted signers: one of each list must have signed. Empty: any statement in the repository counts. */
  readonly demands?: readonly (readonly TrustedSigner[])[];
}

export interface CountedStatement {
  readonly build: AttestedBuild & { readonly by: "imgmatch" | "buildkit" };
  /** `signed`: no signer was asked for, and none was checked. */
  readonly signature: "unsigned" | "signed" | "verified";
}

export interface CountedStatements {
  readonly counted: readonly CountedStatement[];
  /** The reasons against the others. */
  readonly failures: readonly Problem[];
}

/** Throws as the verification of signatures does. A bad signature is a failure and no error. */
export async function countStatements(
  findings: ProvenanceFindings,
  subject: Subject,
  options: CountOptions,
): Promise<CountedStatements> {
  const counted: CountedStatement[] = [];
  const failures: Problem[] = [];
  for (const { build, ...found } of findings.found) {
    const { by } = build;
    if (by === "other") continue;
    try {
      counted.push({
        build: { ...build, by },
        signature: await signatureOf(found, findings, subject, options),
      });
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.exitCode !== exitCodes.conflict) throw error;
      failures.push(...error.problems);
    }
  }
  return { counted, failures };
}

async function signatureOf(
  { held, evidence, about }: Omit<FoundProvenance, "build">,
  { image }: ProvenanceFindings,
  subject: Subject,
  { registry, demands = [], ...options }: CountOptions,
): Promise<CountedStatement["signature"]> {
  if (demands.length === 0) return held === "signed" ? "signed" : "unsigned";
  for (const signers of demands) {
    if (evidence !== null) {
      const wanted = { ...subject, digest: about === image ? image : subject.digest };
      await verifyEvidence([evidence], wanted, signers, { ...options, predicateType: provenanceTypes.v1 });
    } else if (held === "index") {
      // The digest of the index covers what is attested in it.
      await verifyEvidence(await findEvidence(registry, subject), subject, signers, options);
    } else throw unsigned(subject, signers);
  }
  return "verified";
}

function unsigned({ reference, digest }: Subject, signers: readonly TrustedSigner[]): ImgmatchError {
  return new ImgmatchError({
    code: "SIGNATURE_MISSING",
    message: `the provenance of ${formatImageReference(withDigest({ ...reference, tag: null }, digest))} is not signed; asked for: ${signers.map(describeTrusted).join(", or ")}`,
    fix: "build with --sign, or leave out --key and --identity",
  });
}
