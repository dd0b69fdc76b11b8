/** Evidence from a registry that may prove who signed an image: unchecked plain data that a cache can hold. */

import type { Subject } from "../oci/descriptor.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import type { ProblemCode } from "../problem-codes.ts";
import { type Check, object, oneOf, optional, text, variants } from "../io/checks.ts";
import { registryLimits } from "../io/limits.ts";
import { formatImageReference } from "../oci/reference.ts";

export type Evidence = ReadEvidence | UnreadEvidence | RefusedPlace;

export type ReadEvidence = BundleEvidence | SimpleSigning;

/** A part that is too large, damaged or absent. */
export interface UnreadEvidence {
  readonly format: "unread";
  readonly why: string;
}

/** A place where signatures may be, and the registry does not show them. */
export interface RefusedPlace {
  readonly format: "refused";
  /** The request and its answer. */
  readonly why: string;
}

/** The form of cosign 3: a bundle of sigstore, attached to the image as a referrer. */
export interface BundleEvidence {
  readonly format: "bundle";
  /** The JSON text as the registry has it. */
  readonly content: string;
}

/** The form of cosign 1 and 2: a layer of the image under the tag `sha256-<hex>.sig`. */
export interface SimpleSigning {
  readonly format: "simple-signing";
  /** The signed bytes, as base64. */
  readonly payload: string;
  /** As base64. */
  readonly signature: string;
  /** The signer's, as PEM; `chain` has those above it. */
  readonly certificate: string | null;
  readonly chain: string | null;
  /** JSON: the entry of the transparency log with its promise. */
  readonly log: string | null;
  /** JSON with a timestamp of RFC 3161. */
  readonly timestamp: string | null;
}

/** Base64 (RFC 4648, 4) in its one canonical spelling. */
export const base64 = { test: (value: string) => Buffer.from(value, "base64").toString("base64") === value };

const bounded = (grammar: Pick<RegExp, "test">, expected: string): Check<string> =>
  text(
    { test: (value) => value.length <= registryLimits.signatureBytes * 2 && grammar.test(value) },
    `${expected} of at most ${registryLimits.signatureBytes * 2} characters`,
  );

const someBase64 = bounded(base64, "base64");

const someText = bounded(/./s, "text");

/** Checks evidence that a cache kept as JSON. */
export const evidence: Check<Evidence> = variants<Evidence>("format", {
  unread: object<UnreadEvidence>({ format: oneOf("unread"), why: someText }),
  refused: object<RefusedPlace>({ format: oneOf("refused"), why: someText }),
  bundle: object<BundleEvidence>({ format: oneOf("bundle"), content: someText }),
  "simple-signing": object<SimpleSigning>({
    format: oneOf("simple-signing"),
    payload: someBase64,
    signature: someBase64,
    certificate: optional(someText),
    chain: optional(someText),
    log: optional(someText),
    timestamp: optional(someText),
  }),
});

/** The annotations of a layer under `sha256-<hex>.sig` (sigstore/cosign, specs/SIGNATURE_SPEC.md). */
export const layerAnnotations = {
  signature: "dev.cosignproject.cosign/signature",
  certificate: "dev.sigstore.cosign/certificate",
  chain: "dev.sigstore.cosign/chain",
  log: "dev.sigstore.cosign/bundle",
  timestamp: "dev.sigstore.cosign/rfc3161timestamp",
} as const;

export const simpleSigningType = "application/vnd.dev.cosign.simplesigning.v1+json";

/** Type of the artifact, of its layer, and of the JSON in it. */
export const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json";

/** `…bundle.v0.3+json`, and the older `…bundle+json;version=0.1`. */
export function isBundleType(mediaType: string | null): boolean {
  return /^application\/vnd\.dev\.sigstore\.bundle(?:\.v0\.\d+\+json|\+json;\s?version=0\.\d+)$/.test(
    mediaType ?? "",
  );
}

export const bundleAnnotations = {
  content: "dev.sigstore.bundle.content",
  predicateType: "dev.sigstore.bundle.predicateType",
} as const;

/** The predicate type of a plain signature. */
export const signPredicate = "https://sigstore.dev/cosign/sign/v1";

/** One piece of evidence that does not prove what was asked. */
export interface Failure {
  readonly code: keyof typeof fixes;
  /** The predicate of a sentence about the image: `is not signed by this key`. */
  readonly why: string;
}

/** From the least telling to the most telling: of many failures the last is reported first. */
const fixes = {
  SIGNATURE_MISSING:
    "sign it with imgmatch publish --sign, a channel with imgmatch promote --channel NAME --sign, or find out who removed its signature",
  SIGNATURE_WRONG_SIGNER: "sign the image with the right key, or name the key or identity of its signature",
  SIGNATURE_INVALID: "find out who wrote this signature; sign the image again once you know it is yours",
  CERTIFICATE_EXPIRED: "sign it again, with a log entry or a timestamp of the same time",
  SIGNATURE_OTHER_DIGEST:
    "find out who moved this signature: the signature is of another image than the image under this name",
} as const satisfies Partial<Record<ProblemCode, string>>;

const order = Object.keys(fixes);

/** The error for an image that no trusted signer has signed, as far as the evidence proves. */
export function unproven(subject: Subject, wanted: string, failures: readonly Failure[]): ImgmatchError {
  const missing: Failure = { code: "SIGNATURE_MISSING", why: "has no signature in its registry" };
  const [worst = missing, ...others] = [...failures].sort(
    (one, other) => order.indexOf(other.code) - order.indexOf(one.code),
  );
  const problem: Problem = {
    code: worst.code,
    message: `${nameOf(subject)} ${worst.why}; asked for: ${wanted}`,
    ...(others.length === 0
      ? {}
      : { details: others.slice(0, 9).map(({ code, why }) => `also ${code}: it ${why}`) }),
    fix: fixes[worst.code],
  };
  return new ImgmatchError(problem);
}

/** The error where nothing is proved, and a signature may be in a place that the registry does not show. */
export function refusedEvidence(
  subject: Subject,
  wanted: string,
  places: readonly RefusedPlace[],
): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `no signature of ${nameOf(subject)} was found, and a place for signatures was refused: ${places.map(({ why }) => why).join("; ")}; asked for: ${wanted}`,
    fix: "give this login the right to read the list, or sign with --sign-format both, for a signature under a tag too",
  });
}

/** The error for signatures that cannot be read. */
export function invalidSignature(subject: Subject, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "SIGNATURE_INVALID",
    message: `the signatures of ${nameOf(subject)} cannot be read: ${what}`,
    fix: fixes.SIGNATURE_INVALID,
  });
}

function nameOf({ reference, digest }: Subject): string {
  return formatImageReference({ ...reference, tag: null, digest });
}
