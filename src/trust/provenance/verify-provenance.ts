/** Compares the lock's claims about its images with their provenance. */

import type { World } from "../../io/world.ts";
import type { SignatureDemands } from "../../oci/trust-flags.ts";
import { trustedSignersFor } from "../trust-demands.ts";
import type {
  ImageProvenance,
  ProvenanceVerification,
  SignatureState,
} from "../../oci/verified-provenance.ts";
import pLimit from "p-limit";
import { ImgmatchError, type Problem } from "../../errors.ts";
import { placeOf } from "../../lock/image-repository.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, parseImageReference, withDigest, withTag } from "../../oci/reference.ts";
import { sortedEntries } from "../../io/collections.ts";
import { compareClaims } from "./compare-claims.ts";
import type { ClaimDifference } from "../../oci/verified-provenance.ts";
import { findProvenance, type FoundProvenance, type ProvenanceFindings } from "./find-provenance.ts";
import type { Subject } from "../../oci/descriptor.ts";
import { exitCodes } from "../../problem-codes.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import { findEvidence } from "../find-evidence.ts";
import { describeTrusted, type TrustedSigner } from "../trusted-signers.ts";
import { publicRoot } from "../public-root.ts";
import { verifyEvidence } from "../verify-evidence.ts";
import { type AttestedBuild, provenanceTypes } from "./attested-build.ts";

/**
 * One statement that counts and agrees in every claim is enough: two builds of the same inputs may give the same image. Throws `REGISTRY_…`, `KEY_INVALID`, `TRUSTED_ROOT_INVALID`.
 */
export async function verifyProvenance(lock: Lock, options: CountOptions): Promise<ProvenanceVerification> {
  const limit = pLimit(8);
  const published = sortedEntries(lock.images).filter(([, { digest }]) => digest !== null);
  const images = published.map(([cell, image]) =>
    limit(() => verifyImage(lock, cell, image, options).finally(options.onImage)),
  );
  return {
    repository: lock.repository,
    signed: (options.demands ?? []).length > 0,
    images: await Promise.all(images),
  };
}

/** The same under the demands of flags and policies. */
export async function verifyProvenanceFor(
  lock: Lock,
  registry: EvidenceReader,
  flags: SignatureDemands,
  world: World,
  onImage: () => void,
): Promise<ProvenanceVerification> {
  const demands = await trustedSignersFor(parseImageReference(lock.repository), flags, world);
  return verifyProvenance(lock, { registry, demands, onImage });
}

async function verifyImage(
  lock: Lock,
  cell: string,
  image: LockedImage,
  options: CountOptions,
): Promise<ImageProvenance> {
  const digest = image.digest as Digest;
  const repository = placeOf(lock, image);
  const reference = formatImageReference(withTag(repository, image.tag));
  const subject = { reference: repository, digest };
  const findings = await findProvenance(options.registry, subject, image.platform);
  const nothing = {
    ...{ cell, reference, digest, builtBy: null, builder: null, signature: null },
    ...{ differences: [], unstated: [] },
  };
  if (findings === null)
    return { ...nothing, problems: [missing(reference, "the registry does not have it")] };
  if (findings.found.every(({ build }) => build.builtBy === "other"))
    return { ...nothing, problems: [missing(reference, whyMissing(findings))] };
  const { counted, failures } = await countStatements(findings, subject, options);
  const compared = counted
    .map(({ build, signature }) => ({
      ...{ builtBy: build.builtBy, builder: build.builder, signature },
      ...compareClaims({ lock, cell, image, digests: [digest, findings.image] }, build),
    }))
    .sort((one, other) => one.differences.length - other.differences.length);
  const [nearest] = compared;
  if (nearest === undefined) return { ...nothing, problems: failures };
  const problems = nearest.differences.length === 0 ? [] : [mismatch(reference, nearest)];
  return { cell, reference, digest, ...nearest, problems };
}

function whyMissing({ found }: ProvenanceFindings): string {
  const [other] = found;
  return other === undefined
    ? "nothing says how it was built"
    : `its provenance is of another tool: ${other.build.buildType || "of no build type"}`;
}

function missing(reference: string, why: string): Problem {
  return {
    code: "PROVENANCE_MISSING",
    message: `${reference}: ${why}`,
    fix: "images from before attest: have none; build --no-cache --push builds them again under new tags",
  };
}

function mismatch(
  reference: string,
  { builtBy, differences }: Pick<ImageProvenance, "builtBy" | "differences">,
): Problem {
  const [first] = differences;
  const more = differences.length - 1;
  return {
    code: "PROVENANCE_MISMATCH",
    message: `${reference}: the lock and the provenance of ${builtBy} differ in ${first === undefined ? "nothing" : describeDifference(first)}${more > 0 ? ` and ${more} more` : ""}`,
    details: differences.map(describeDifference),
    fix: "look for the change in git log of the lock, and for other writers of the registry",
  };
}

function describeDifference({ claim, locked, attested }: ClaimDifference): string {
  return `${claim}: locked ${locked ?? "nothing"}, attested ${attested ?? "nothing"}`;
}

interface CountOptions {
  readonly registry: EvidenceReader;
  /** Called after each image. */
  readonly onImage?: () => void;
  /** Lists of trusted signers: one of each list must have signed. Empty: any statement in the repository counts. */
  readonly demands?: readonly (readonly TrustedSigner[])[];
}

export interface CountedStatement {
  readonly build: AttestedBuild & { readonly builtBy: "imgmatch" | "buildkit" };
  readonly signature: SignatureState;
}

/** `failures` are the reasons against the others. Throws as the verification of signatures does. A bad signature is a failure and no error. */
async function countStatements(findings: ProvenanceFindings, subject: Subject, options: CountOptions) {
  const counted: CountedStatement[] = [];
  const failures: Problem[] = [];
  for (const { build, ...found } of findings.found) {
    const { builtBy } = build;
    if (builtBy === "other") continue;
    try {
      counted.push({
        build: { ...build, builtBy },
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
  { foundAs, evidence, about }: Omit<FoundProvenance, "build">,
  { image }: ProvenanceFindings,
  subject: Subject,
  { registry, demands = [] }: CountOptions,
): Promise<CountedStatement["signature"]> {
  if (demands.length === 0) return foundAs === "signed" ? "signed" : "unsigned";
  for (const signers of demands) {
    if (evidence !== null) {
      const wanted = { ...subject, digest: about === image ? image : subject.digest };
      await verifyEvidence([evidence], wanted, signers, { publicRoot, predicateType: provenanceTypes.v1 });
    } else if (foundAs === "index") {
      // The digest of the index covers what is attested in it.
      await verifyEvidence(await findEvidence(registry, subject), subject, signers, { publicRoot });
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
