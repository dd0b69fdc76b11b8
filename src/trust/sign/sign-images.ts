/** Signs the images in a registry that this signer has not signed yet, in cosign's formats. */

import { type SignatureFormat, signatureFormats, type SignedImages } from "../../oci/trust-flags.ts";
import pLimit from "p-limit";
import { ImgmatchError } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatRepository, type ImageReference } from "../../oci/reference.ts";
import { type TryOptions, waitFor } from "../../oci/registry/try-again.ts";
import { attachSimpleSigning, bundleArtifact } from "../attach.ts";
import { attach, type AttachmentRegistry } from "../../oci/registry/attach.ts";
import { type Evidence, signPredicate } from "../evidence.ts";
import type { Subject } from "../../oci/descriptor.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import { findEvidence } from "../find-evidence.ts";
import { statementVersion } from "../statement.ts";
import { publicRoot } from "../public-root.ts";
import { verifyEvidence } from "../verify-evidence.ts";
import type { Signer } from "./signer.ts";

export interface SignOptions extends TryOptions {
  readonly registry: EvidenceReader & AttachmentRegistry;
  readonly signer: Signer;
  readonly format: SignatureFormat;
  /** Longest time from the read to the write of another signer, in milliseconds. Default: 2,000. */
  readonly settleMs?: number;
}

/**
 * Signs each digest in the reference's repository. Registries have no conditional write: another signer that read a list before our write
 * drops our entry. So each list is read again after `settleMs`, until no entry is missing. Throws `SIGNING_FAILED`, `REGISTRY_…`.
 */
export async function signImages(
  reference: ImageReference,
  digests: Iterable<Digest>,
  options: SignOptions,
): Promise<SignedImages> {
  const limit = pLimit(8);
  const subjects = [...new Set(digests)].map((digest) => ({ reference, digest }));
  const done = await Promise.all(subjects.map((subject) => limit(signImage, subject, options))).finally(() =>
    limit.clearQueue(),
  );
  const looks = done.flatMap((each) => each.looks);
  const { settleMs = 2000, sleep = waitFor, signal } = options;
  for (let rounds = 0; looks.length > 0 && rounds < mostRounds; rounds++) {
    await sleep(settleMs, signal);
    const putBack = await Promise.all(looks.map((look) => limit(look)));
    if (!putBack.includes(true)) break;
  }
  const digestsOf = (some: typeof done) => some.map(({ subject }) => subject.digest);
  return {
    signed: digestsOf(done.filter((each) => each.looks.length > 0)),
    kept: digestsOf(done.filter((each) => each.looks.length === 0)),
  };
}

/** Other signers may interfere so often. */
const mostRounds = 10;

type Look = () => Promise<boolean>;

/** Answers with a later look at each signature that was made. */
async function signImage(subject: Subject, options: SignOptions) {
  options.signal?.throwIfAborted();
  const there = await ownFormats(subject, options);
  const looks: Look[] = [];
  for (const each of signatureFormats[options.format])
    if (!there.has(each)) looks.push(await (each === "bundle" ? signBundle : signSimply)(subject, options));
  return { subject, looks };
}

/** As cosign 3 does. */
async function signBundle(subject: Subject, options: SignOptions): Promise<Look> {
  const { signer, registry } = options;
  const bundle = await signer.signStatement(signatureStatement(subject.digest));
  const artifact = bundleArtifact(bundle, signPredicate);
  return (await attach(registry, subject, artifact, options)).lookAgain;
}

/** As cosign 2 does. */
async function signSimply(subject: Subject, options: SignOptions): Promise<Look> {
  const { signer, registry } = options;
  const signature = await signer.signPayload(signaturePayload(subject));
  const look = () => attachSimpleSigning(registry, subject, signature, options);
  await look();
  return look;
}

/** The formats in which this signer has signed the subject already. */
async function ownFormats(
  subject: Subject,
  { registry, signer }: SignOptions,
): Promise<ReadonlySet<Evidence["format"]>> {
  const known = await signer.asTrusted();
  const found = new Set<Evidence["format"]>();
  if (known === null) return found;
  for (const each of await findEvidence(registry, subject)) {
    if (found.has(each.format)) continue;
    try {
      await verifyEvidence([each], subject, [known], { publicRoot });
      found.add(each.format);
    } catch (error) {
      // Another signer's, or an invalid one: the next may be ours.
      if (!(error instanceof ImgmatchError) || error.exitCode !== 6) throw error;
    }
  }
  return found;
}

/** As cosign 3 words it. */
function signatureStatement(digest: Digest): object {
  return {
    _type: statementVersion,
    subject: [{ digest: { sha256: digest.slice("sha256:".length) } }],
    predicateType: signPredicate,
    predicate: {},
  };
}

/** As cosign 2 words it. */
function signaturePayload({ reference, digest }: Subject): Buffer {
  const name = formatRepository(reference);
  const critical = {
    identity: { "docker-reference": name },
    image: { "docker-manifest-digest": digest },
    type: "cosign container image signature",
  };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}
