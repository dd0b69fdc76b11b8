/** Signs the images in a registry that this signer has not signed yet, in cosign's formats. */

import { type SignatureFormat, signatureFormats, type SignedImages } from "../../oci/trust-flags.ts";
import pLimit from "p-limit";
import { ImgmatchError } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatRepository, type ImageReference } from "../../oci/reference.ts";
import { type TryOptions, waitFor } from "../../oci/registry/try-again.ts";
import { attachSimpleSigning, bundleArtifact } from "../attach.ts";
import type { SignatureForm } from "../../lock/lock.ts";
import { attach, type AttachmentRegistry, isAttachmentRefusal } from "../../oci/registry/attach.ts";
import { signPredicate } from "../evidence.ts";
import type { Subject } from "../../oci/descriptor.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import type { RegistryError } from "../../oci/registry/registry-error.ts";
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
  /** Gets a line where a registry takes no bundles, and signatures are under tags alone. */
  readonly tell?: ((line: string) => void) | undefined;
  /** Filled by the first bundle of each registry. Default: empty. */
  readonly takers?: BundleTakers;
}

/** For each registry, whether it takes attached bundles. The first one decides: some of a fleet's images with, some without would help nobody. */
export type BundleTakers = Map<string, Promise<boolean>>;

/**
 * Signs each digest in the reference's repository. Registries have no conditional write: another signer that read a list before our write
 * drops our entry. So each list is read again after `settleMs`, until no entry is missing. Throws `SIGNING_FAILED`, `REGISTRY_…`.
 */
export async function signImages(
  reference: ImageReference,
  digests: Iterable<Digest>,
  { takers = new Map(), ...options }: SignOptions,
): Promise<SignedImages> {
  const limit = pLimit(8);
  const subjects = [...new Set(digests)].map((digest) => ({ reference, digest }));
  const sign = (subject: Subject) => limit(signImage, subject, { ...options, takers });
  const done = await Promise.all(subjects.map(sign)).finally(() => limit.clearQueue());
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
    forms: [...new Set(done.flatMap((each) => each.forms))].sort(),
  };
}

/** Other signers may interfere so often. */
const mostRounds = 10;

type Look = () => Promise<boolean>;

type Options = SignOptions & Required<Pick<SignOptions, "takers">>;

/** Answers with the forms that are there, and a later look at each signature that was made. */
async function signImage(subject: Subject, options: Options) {
  options.signal?.throwIfAborted();
  const there = await ownForms(subject, options);
  const looks: Look[] = [];
  const forms: SignatureForm[] = [];
  for (const form of signatureFormats[options.format]) {
    const look = there.has(form) ? null : await signers[form](subject, options);
    if (look !== null) looks.push(look);
    if (look !== null || there.has(form)) forms.push(form);
  }
  return { subject, looks, forms };
}

const signers = { bundle: signBundle, tag: signSimply };

/** As cosign 3 does. null if the registry takes no bundles, and a signature under the tag is to follow. */
async function signBundle(subject: Subject, options: Options): Promise<Look | null> {
  const { signer, registry, takers, format, tell } = options;
  const host = subject.reference.registry;
  const bundle = await signer.signStatement(signatureStatement(subject.digest));
  const known = takers.get(host);
  if (known !== undefined && !(await known)) return null;
  const attached = attach(registry, subject, bundleArtifact(bundle, signPredicate), options);
  const isTaken = attached.then(
    () => true,
    (error: unknown) => !isAttachmentRefusal(error),
  );
  if (known === undefined) takers.set(host, isTaken);
  try {
    return (await attached).lookAgain;
  } catch (error) {
    if (known !== undefined || !isAttachmentRefusal(error)) throw error;
    if (format === "bundle") throw noBundles(error);
    tell?.(`${host} takes no attached signatures (${error.status}): they are under tags alone`);
    return null;
  }
}

function noBundles(error: RegistryError): ImgmatchError {
  const [{ code, message }] = error.problems;
  const fix = "this registry takes no attached signatures: give --sign-format tag";
  return new ImgmatchError({ code, message, fix }, { cause: error });
}

/** As cosign 2 does. */
async function signSimply(subject: Subject, options: SignOptions): Promise<Look> {
  const { signer, registry } = options;
  const signature = await signer.signPayload(signaturePayload(subject));
  const look = () => attachSimpleSigning(registry, subject, signature, options);
  await look();
  return look;
}

/** The forms in which this signer has signed the subject already. */
async function ownForms(
  subject: Subject,
  { registry, signer }: SignOptions,
): Promise<ReadonlySet<SignatureForm>> {
  const known = await signer.asTrusted();
  const found = new Set<SignatureForm>();
  if (known === null) return found;
  for (const each of await findEvidence(registry, subject)) {
    if (each.format === "refused" || each.format === "unread") continue;
    const form = each.format === "bundle" ? "bundle" : "tag";
    if (found.has(form)) continue;
    try {
      await verifyEvidence([each], subject, [known], { publicRoot });
      found.add(form);
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
