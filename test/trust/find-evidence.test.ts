/** Puts hostile evidence where a registry has signatures: too much, too large, damaged, of another kind. */

import { generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { registryLimits } from "../../src/io/limits.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { formatImageReference, parseImageReference } from "../../src/oci/reference.ts";
import type { Referrer } from "../../src/oci/registry/client.ts";
import {
  bundleType,
  type Evidence,
  layerAnnotations,
  signPredicate,
  simpleSigningType,
} from "../../src/trust/evidence.ts";
import type { EvidenceReader } from "../../src/oci/registry/client.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { signWithKey } from "../../src/trust/sign/make-signer.ts";
import type { TrustedIdentity, TrustedKey } from "../../src/trust/trusted-signers.ts";
import { preAuthentication, readStatement, statementType } from "../../src/trust/statement.ts";
import { verifyEvidence } from "./support/verify-evidence.ts";
import { manifestOf } from "../oci/registry/support/manifests.ts";
import { type LocalSigstore, startSigstore } from "../support/sigstore.ts";

const digest = digestOf("an image");
const reference = parseImageReference("registry.example.com/team/app");
const subject = { reference, digest };
const sha256 = digest.slice("sha256:".length);

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error) => (error instanceof ImgmatchError ? error.code : String(error)),
  );

/** A registry that has these manifests by tag or digest, and these blobs. */
function holding(
  manifests: Readonly<Record<string, unknown>>,
  referrers: readonly Referrer[] | null = null,
  blobs: Readonly<Record<string, Uint8Array>> = {},
): EvidenceReader {
  return {
    readReferrers: async () => referrers,
    readManifest: async (asked) => {
      const found = manifests[asked.digest ?? asked.tag ?? ""];
      return found === undefined ? null : manifestOf(found);
    },
    async *streamBlob(_, asked) {
      const bytes = blobs[asked];
      if (bytes === undefined) throw new Error(`no blob ${asked}`);
      yield bytes;
    },
  };
}

const signatureTag = `sha256-${sha256}.sig`;
const simpleLayer = (more: object) => ({
  mediaType: simpleSigningType,
  digest: digestOf("x"),
  size: 1,
  annotations: { [layerAnnotations.signature]: "AAAA" },
  ...more,
});

describe("what lies where signatures are", () => {
  it.each([
    ["too many layers", { layers: Array(registryLimits.referrers + 1).fill(simpleLayer({})) }],
    ["a layer that is too large", { layers: [simpleLayer({ size: registryLimits.signatureBytes + 1 })] }],
    ["a layer without a digest", { layers: [simpleLayer({ digest: "sha512:00" })] }],
    ["a layer of negative size", { layers: [simpleLayer({ size: -1 })] }],
  ])("%s is SIGNATURE_INVALID, before any of it is read", async (_, manifest) => {
    expect(await codeOf(findEvidence(holding({ [signatureTag]: manifest }), subject))).toBe(
      "SIGNATURE_INVALID",
    );
  });

  it.each([
    ["no layers", {}],
    ["layers that are none", { layers: { length: 3 } }],
    ["layers of another kind", { layers: [simpleLayer({ mediaType: "text/plain" }), null, 7] }],
    ["layers without a signature", { layers: [simpleLayer({ annotations: {} })] }],
  ])("%s is nothing", async (_, manifest) => {
    expect(await findEvidence(holding({ [signatureTag]: manifest }), subject)).toEqual([]);
  });

  const named = (bytes: Uint8Array, size = bytes.length) => simpleLayer({ digest: digestOf(bytes), size });

  it("what cannot be read hides nothing beside it, and is told", async () => {
    const good = Buffer.from("good");
    const layers = [
      simpleLayer({ size: registryLimits.signatureBytes + 1 }),
      simpleLayer({ digest: "sha512:00" }),
      named(good),
    ];
    const registry = holding({ [signatureTag]: { layers } }, null, { [digestOf(good)]: good });
    const found = await findEvidence(registry, subject);
    expect(found.map(({ format }) => format)).toEqual(["unread", "unread", "simple-signing"]);
    const verified = verifyEvidence(found, subject, [key]);
    await expect(verified).rejects.toThrow(/SIGNATURE_INVALID.*cannot be read.*the limit is 262144/);
  });

  it("all of it has one budget, and what is small still fits", async () => {
    const large = Buffer.alloc(registryLimits.signatureBytes - 1);
    const small = Buffer.from("small");
    const asked: string[] = [];
    const layers = [...Array(30).fill(named(large)), named(small)];
    const held = holding({ [signatureTag]: { layers } }, null, {
      [digestOf(large)]: large,
      [digestOf(small)]: small,
    });
    let atOnce = 0;
    const registry: EvidenceReader = {
      ...held,
      async *streamBlob(repository, blob, size) {
        asked.push(blob);
        expect(++atOnce).toBe(1);
        yield* held.streamBlob(repository, blob, size);
        atOnce--;
      },
    };
    const found = await findEvidence(registry, subject);
    expect(found.filter(({ format }) => format === "unread")).toHaveLength(14);
    expect(asked).toHaveLength(17);
    expect(found.at(-1)).toMatchObject({ payload: small.toString("base64") });
  });

  it("too many referrers are SIGNATURE_INVALID, and those of another kind are not read", async () => {
    const referrer = (number: number, artifactType: string): Referrer => ({
      digest: digestOf(`${number}`),
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      size: 2,
      artifactType,
      annotations: {},
    });
    const many = Array.from({ length: registryLimits.referrers + 1 }, (_, number) =>
      referrer(number, bundleType),
    );
    expect(await codeOf(findEvidence(holding({}, many), subject))).toBe("SIGNATURE_INVALID");
    const others = many.map(({ artifactType, ...rest }) => ({ ...rest, artifactType: "text/plain" }));
    expect(await findEvidence(holding({}, others), subject)).toEqual([]);
    // One that was removed meanwhile is no signature, and no error.
    expect(await findEvidence(holding({}, many.slice(0, 2)), subject)).toEqual([]);
  });

  it("a registry that fails is never one without signatures", async () => {
    for (const failing of ["readReferrers", "readManifest"] as const) {
      const registry = {
        ...holding({}),
        [failing]: async () => {
          throw new ImgmatchError({ code: "REGISTRY_UNREACHABLE", message: "no answer", fix: "wait" });
        },
      };
      expect(await codeOf(findEvidence(registry, subject))).toBe("REGISTRY_UNREACHABLE");
    }
  });
});

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
const key: TrustedKey = { kind: "key", name: "cosign.pub", pem };
const signer = signWithKey({
  name: "cosign.key",
  publicKey: pem,
  sign: async (message) => sign("sha256", message, privateKey),
});

/** Signed by the right key, whatever it says. */
async function bundleSaying(statement: object): Promise<Evidence> {
  return { format: "bundle", content: await signer.signStatement(statement) };
}
const statement = (more: object = {}) => ({
  _type: "https://in-toto.io/Statement/v1",
  subject: [{ digest: { sha256 } }],
  predicateType: signPredicate,
  predicate: {},
  ...more,
});

describe("what the right key signed", () => {
  it.each([
    ["is about nothing", { subject: [] }, "SIGNATURE_OTHER_DIGEST"],
    [
      "is about another algorithm's digest",
      { subject: [{ digest: { sha512: sha256 } }] },
      "SIGNATURE_OTHER_DIGEST",
    ],
    [
      "is about a digest in upper case",
      { subject: [{ digest: { sha256: sha256.toUpperCase() } }] },
      "SIGNATURE_INVALID",
    ],
    ["is another statement", { predicateType: "https://slsa.dev/provenance/v1" }, "SIGNATURE_INVALID"],
    ["is no statement", { _type: "https://example.com/Statement" }, "SIGNATURE_INVALID"],
    ["has no subject", { subject: undefined }, "SIGNATURE_INVALID"],
    [
      "is about more than this image",
      { subject: [{ digest: { sha256: "0".repeat(64) } }, { digest: { sha256 } }] },
      "verified",
    ],
  ])("and %s", async (_, more, code) => {
    const evidence = await bundleSaying(statement(more));
    const verified = verifyEvidence([evidence], subject, [key]).then(() => "verified");
    expect(await codeOf(verified)).toBe(code);
  });

  it("in an envelope of another type is SIGNATURE_INVALID", async () => {
    const payload = Buffer.from(JSON.stringify(statement()));
    const payloadType = "text/plain";
    const sig = sign("sha256", preAuthentication({ payloadType, payload }), privateKey).toString("base64");
    const envelope = { payloadType, payload: payload.toString("base64"), signatures: [{ sig }] };
    const content = JSON.stringify({
      mediaType: bundleType,
      verificationMaterial: {},
      dsseEnvelope: envelope,
    });
    expect(await codeOf(verifyEvidence([{ format: "bundle", content }], subject, [key]))).toBe(
      "SIGNATURE_INVALID",
    );
    expect(readStatement({ payloadType, payload, signatures: [] })).toContain(statementType);
  });

  it("of the payload alone, without its type, does not count", async () => {
    const payload = Buffer.from(JSON.stringify(statement()));
    const sig = sign("sha256", payload, privateKey).toString("base64");
    const envelope = {
      payloadType: statementType,
      payload: payload.toString("base64"),
      signatures: [{ sig }],
    };
    const content = JSON.stringify({
      mediaType: bundleType,
      verificationMaterial: {},
      dsseEnvelope: envelope,
    });
    expect(await codeOf(verifyEvidence([{ format: "bundle", content }], subject, [key]))).toBe(
      "SIGNATURE_WRONG_SIGNER",
    );
  });

  it("a good signature counts beside any number of bad ones, and an error names them all", async () => {
    const good = await bundleSaying(statement());
    const bad = await bundleSaying(statement({ subject: [] }));
    const junk: Evidence = { format: "bundle", content: "{" };
    await expect(verifyEvidence([junk, bad, good], subject, [key])).resolves.toMatchObject({ signer: key });
    const error = await verifyEvidence([junk, bad], subject, [key]).catch((caught) => caught);
    expect(error.problems[0]).toMatchObject({
      code: "SIGNATURE_OTHER_DIGEST",
      details: [expect.stringContaining("SIGNATURE_INVALID")],
    });
    expect(error.message).toContain(formatImageReference({ ...reference, digest: digest as Digest }));
  });
});

describe("damaged evidence", () => {
  let sigstore: LocalSigstore;
  let signers: readonly (TrustedKey | TrustedIdentity)[];
  beforeAll(async () => {
    sigstore = await startSigstore();
    const { trustedRoot } = sigstore;
    signers = [key, { kind: "identity", identity: /.*/, issuer: /.*/, trustedRoot }];
  });
  afterAll(() => sigstore.stop());

  it("never verifies and never throws anything but a code of signatures", async () => {
    const good = await signer.signStatement(statement());
    const simple = await signer.signPayload(Buffer.from("{}"));
    const anything = fc.oneof(
      fc.json().map((content): Evidence => ({ format: "bundle", content })),
      fc.tuple(fc.nat(good.length - 1), fc.string({ minLength: 1, maxLength: 3 })).map(
        ([at, put]): Evidence => ({
          format: "bundle",
          content: good.slice(0, at) + put + good.slice(at + put.length),
        }),
      ),
      fc
        .record({
          payload: fc.base64String(),
          signature: fc.base64String(),
          certificate: fc.option(fc.string()),
          log: fc.option(fc.json()),
          timestamp: fc.option(fc.json()),
        })
        .map((parts): Evidence => ({ ...simple, ...parts })),
    );
    await fc.assert(
      fc.asyncProperty(anything, async (evidence) => {
        for (const each of signers) {
          const code = await codeOf(verifyEvidence([evidence], subject, [each]).then(() => "verified"));
          // Bytes that were replaced by the same, or that nothing signs, leave the evidence as good as before.
          if (code === "verified") {
            if (evidence.format !== "bundle") throw new Error("a made-up signature verified");
            const signed = (text: string) => JSON.stringify(JSON.parse(text).dsseEnvelope);
            expect(signed(evidence.content)).toBe(signed(good));
          } else expect(code).toMatch(/^SIGNATURE_(?:INVALID|WRONG_SIGNER|OTHER_DIGEST)$/);
        }
      }),
      { numRuns: Math.min(1000, Number(process.env.FAST_CHECK_RUNS ?? 300)) },
    );
  });
});
