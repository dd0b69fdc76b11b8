/** Signs images in a registry: each that this signer has not signed yet, in the forms that are asked for. */

import pLimit from "p-limit";
import { ImgmatchError } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { TryOptions } from "../../registry/try-again.ts";
import { attach, attachSimpleSigning, type AttachmentRegistry } from "../attach.ts";
import { bundleAnnotations, bundleType, type Evidence, signPredicate } from "../evidence.ts";
import { type EvidenceReader, findEvidence, type Subject } from "../find-evidence.ts";
import { verifyEvidence, type VerifyOptions } from "../verify-evidence.ts";
import type { ImageSigner } from "./image-signer.ts";

export const signatureFormats = {
  bundle: ["bundle"],
  tag: ["simple-signing"],
  both: ["bundle", "simple-signing"],
} as const;

export type SignatureFormat = keyof typeof signatureFormats;

export interface SignOptions extends TryOptions {
  readonly registry: EvidenceReader & AttachmentRegistry;
  readonly signer: ImageSigner;
  readonly format: SignatureFormat;
  readonly verify?: VerifyOptions;
  /** Images at one time. Default: 8. */
  readonly concurrency?: number;
}

export interface SignedImages {
  readonly signed: readonly Digest[];
  /** Signed by this signer before: nothing was written. */
  readonly kept: readonly Digest[];
}

/**
 * Signs each digest in the reference's repository. Registries have no conditional write: when all are signed, each is looked at again,
 * and a signature that somebody else's write of the same moment has dropped is attached again.
 * Throws `SIGNING_FAILED`, `REGISTRY_…`.
 */
export async function signImages(
  reference: ImageReference,
  digests: Iterable<Digest>,
  options: SignOptions,
): Promise<SignedImages> {
  const limit = pLimit(options.concurrency ?? 8);
  const subjects = [...new Set(digests)].map((digest) => ({ reference, digest }));
  const done = await Promise.all(subjects.map((subject) => limit(signImage, subject, options))).finally(() =>
    limit.clearQueue(),
  );
  const signed = done.filter(({ attachments }) => attachments.length > 0);
  await Promise.all(
    signed.map(({ attachments }) =>
      limit(async () => {
        for (const again of attachments) await again();
      }),
    ),
  );
  const digestsOf = (some: typeof done) => some.map(({ subject }) => subject.digest);
  return {
    signed: digestsOf(signed),
    kept: digestsOf(done.filter(({ attachments }) => attachments.length === 0)),
  };
}

/** What was attached, as what attaches it again where it is gone. */
async function signImage(subject: Subject, options: SignOptions) {
  const { registry, signer, format } = options;
  options.signal?.throwIfAborted();
  const there = await ownFormats(subject, options);
  const attachments: (() => Promise<unknown>)[] = [];
  for (const each of signatureFormats[format]) {
    if (there.has(each)) continue;
    const again =
      each === "bundle"
        ? await bundleOf(subject, signer, registry, options)
        : await simpleSigningOf(subject, signer, registry, options);
    await again();
    attachments.push(again);
  }
  return { subject, attachments };
}

async function bundleOf(
  subject: Subject,
  signer: ImageSigner,
  registry: AttachmentRegistry,
  options: TryOptions,
) {
  const content = Buffer.from(await signer.signStatement(signatureStatement(subject.digest)));
  return () => attachBundle(registry, subject, content, signPredicate, options);
}

async function simpleSigningOf(
  subject: Subject,
  signer: ImageSigner,
  registry: AttachmentRegistry,
  options: TryOptions,
) {
  const signature = await signer.signPayload(signaturePayload(subject));
  return () => attachSimpleSigning(registry, subject, signature, options);
}

/** Attaches a bundle, as `signStatement` makes it, as cosign 3 does. `predicateType` is that of the statement in it. */
export function attachBundle(
  registry: AttachmentRegistry,
  subject: Subject,
  bundle: Uint8Array,
  predicateType: string,
  options: TryOptions = {},
): Promise<Digest> {
  const annotations = {
    [bundleAnnotations.content]: "dsse-envelope",
    [bundleAnnotations.predicateType]: predicateType,
  };
  return attach(registry, subject, { artifactType: bundleType, content: bundle, annotations }, options);
}

/** The formats in which this signer has signed it already. */
async function ownFormats(
  subject: Subject,
  { registry, signer, verify }: SignOptions,
): Promise<ReadonlySet<Evidence["format"]>> {
  const known = await signer.signer();
  const found = new Set<Evidence["format"]>();
  if (known === null) return found;
  for (const each of await findEvidence(registry, subject)) {
    if (found.has(each.format)) continue;
    try {
      await verifyEvidence([each], subject, [known], verify);
      found.add(each.format);
    } catch (error) {
      // Somebody else's, or none that counts: there may be another one.
      if (!(error instanceof ImgmatchError) || error.exitCode !== 6) throw error;
    }
  }
  return found;
}

/** As cosign 3 words it. */
function signatureStatement(digest: Digest): object {
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ digest: { sha256: digest.slice("sha256:".length) } }],
    predicateType: signPredicate,
    predicate: {},
  };
}

/** As cosign 2 words it. */
function signaturePayload({ reference, digest }: Subject): Buffer {
  const name = formatImageReference({ ...reference, tag: null, digest: null });
  const critical = {
    identity: { "docker-reference": name },
    image: { "docker-manifest-digest": digest },
    type: "cosign container image signature",
  };
  return Buffer.from(JSON.stringify({ critical, optional: null }));
}
