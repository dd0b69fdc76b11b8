/** Signing and verifying as an identity, against a sigstore on loopback: certificate, log, timestamp, and what is wrong with each. */

import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { type Evidence, signPredicate } from "../../../src/trust/evidence.ts";
import { signWithIdentity } from "../../../src/trust/sign/sign-with-identity.ts";
import type { Signer } from "../../../src/trust/sign/signer.ts";
import type { TrustedIdentity } from "../../../src/trust/trusted-signers.ts";
import { verifyEvidence } from "../support/verify-evidence.ts";
import { type LocalSigstore, startSigstore, tokenOf } from "../../support/sigstore.ts";

const name = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main";
const issuer = "https://issuer.example.com";
const digest = digestOf("an image");
const subject = { reference: parseImageReference("registry.example.com/team/app:1.0"), digest };

let sigstore: LocalSigstore;
beforeAll(async () => {
  sigstore = await startSigstore();
});
afterAll(() => sigstore.stop());

async function evidenceOf(signer: Signer): Promise<readonly [Evidence, Evidence]> {
  const sha256 = digest.slice("sha256:".length);
  const content = await signer.signStatement({
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ digest: { sha256 } }],
    predicateType: signPredicate,
    predicate: {},
  });
  const critical = {
    identity: { "docker-reference": "registry.example.com/team/app" },
    image: { "docker-manifest-digest": digest },
    type: "cosign container image signature",
  };
  return [
    { format: "bundle", content },
    await signer.signPayload(Buffer.from(JSON.stringify({ critical, optional: null }))),
  ];
}

type Urls = Partial<Parameters<typeof signWithIdentity>[0]>;
const signerAt = (at: LocalSigstore, more: Urls = {}) =>
  signWithIdentity({ token: async () => tokenOf(name), fulcioUrl: at.url, rekorUrl: at.url, ...more });
const wanted = (more: Partial<TrustedIdentity> = {}): TrustedIdentity => ({
  kind: "identity",
  identity: name,
  issuer,
  trustedRoot: sigstore.trustedRoot,
  ...more,
});
const codeOf = (evidence: readonly Evidence[], signer: TrustedIdentity, about = subject) =>
  verifyEvidence(evidence, about, [signer]).then(
    () => "verified",
    (error) => (error instanceof ImgmatchError ? error.code : String(error)),
  );

describe("what an identity signed", () => {
  let evidence: readonly [Evidence, Evidence];
  beforeAll(async () => {
    evidence = await evidenceOf(signerAt(sigstore));
  });

  it("verifies in both formats, and says whose it is", async () => {
    for (const each of evidence)
      expect(await verifyEvidence([each], subject, [wanted()])).toMatchObject({
        format: each.format,
        identity: { name, issuer },
      });
  });

  it("verifies by patterns of the whole name, and never of a part", async () => {
    const pattern = /https:\/\/github\.com\/team\/app\/.*/;
    expect(await codeOf(evidence, wanted({ identity: pattern, issuer: /https:\/\/issuer\..*/ }))).toBe(
      "verified",
    );
    expect(await codeOf(evidence, wanted({ identity: /team\/app/ }))).toBe("SIGNATURE_WRONG_SIGNER");
    expect(await codeOf(evidence, wanted({ issuer: /issuer/ }))).toBe("SIGNATURE_WRONG_SIGNER");
  });

  it("is SIGNATURE_WRONG_SIGNER for another identity or another issuer", async () => {
    for (const each of evidence) {
      expect(await codeOf([each], wanted({ identity: `${name}x` }))).toBe("SIGNATURE_WRONG_SIGNER");
      expect(await codeOf([each], wanted({ issuer: "https://other.example.com" }))).toBe(
        "SIGNATURE_WRONG_SIGNER",
      );
    }
  });

  it("is SIGNATURE_OTHER_DIGEST of another image", async () => {
    const other = { ...subject, digest: digestOf("another image") };
    for (const each of evidence) expect(await codeOf([each], wanted(), other)).toBe("SIGNATURE_OTHER_DIGEST");
  });

  it("is SIGNATURE_INVALID at once where a checkpoint is signed by an expression that would run for hours", async () => {
    const [bundle] = evidence;
    if (bundle.format !== "bundle") throw new Error("order");
    const json = JSON.parse(bundle.content);
    const [entry] = json.verificationMaterial.tlogEntries;
    const hint = Buffer.from(entry.logId.keyId, "base64").subarray(0, 4);
    const signature = Buffer.concat([hint, Buffer.alloc(64)]).toString("base64");
    const zero = Buffer.alloc(32).toString("base64");
    entry.inclusionProof = {
      logIndex: "0",
      treeSize: "1",
      rootHash: zero,
      hashes: [],
      checkpoint: { envelope: `log\n1\n${zero}\n\n\u2014 ^(.|.|.|[^!])*!$ ${signature}\n` },
    };
    expect(await codeOf([{ ...bundle, content: JSON.stringify(json) }], wanted())).toBe("SIGNATURE_INVALID");
  });

  it("is SIGNATURE_INVALID by another root, and without its log entry", async () => {
    const other = await startSigstore();
    for (const each of evidence)
      expect(await codeOf([each], wanted({ trustedRoot: other.trustedRoot }))).toBe("SIGNATURE_INVALID");
    await other.stop();
    const [bundle, simple] = evidence;
    if (bundle.format !== "bundle" || simple.format !== "simple-signing") throw new Error("order");
    const json = JSON.parse(bundle.content);
    json.verificationMaterial.tlogEntries = [];
    expect(await codeOf([{ ...bundle, content: JSON.stringify(json) }], wanted())).toBe("SIGNATURE_INVALID");
    expect(await codeOf([{ ...simple, log: null }], wanted())).toBe("SIGNATURE_INVALID");
  });

  it("does not count for an envelope beside what was signed", async () => {
    const [bundle, simple] = evidence;
    if (bundle.format !== "bundle" || simple.format !== "simple-signing") throw new Error("order");
    const json = JSON.parse(bundle.content);
    const signed = Buffer.from(simple.payload, "base64");
    json.messageSignature = {
      messageDigest: {
        algorithm: "SHA2_256",
        digest: createHash("sha256").update(signed).digest("base64"),
      },
      signature: simple.signature,
    };
    const both: Evidence = { ...bundle, content: JSON.stringify(json) };
    await expect(verifyEvidence([both], subject, [wanted()])).rejects.toThrow("it signs no statement");
  });

  it("does not verify with another one's certificate, nor with a log entry of another signature", async () => {
    const others = await evidenceOf(signerAt(sigstore));
    const [, mine] = evidence;
    const [, theirs] = others;
    if (mine.format !== "simple-signing" || theirs.format !== "simple-signing") throw new Error("order");
    // Of the next second, it is not valid yet either.
    expect(await codeOf([{ ...mine, certificate: theirs.certificate }], wanted())).toMatch(
      /^(SIGNATURE_INVALID|CERTIFICATE_EXPIRED)$/,
    );
    expect(await codeOf([{ ...mine, log: theirs.log }], wanted())).toBe("SIGNATURE_INVALID");
  });
});

it("a certificate that had expired when it signed is CERTIFICATE_EXPIRED", async () => {
  const late = await startSigstore({ issuedAt: new Date(Date.now() - 3_600_000) });
  const evidence = await evidenceOf(signerAt(late));
  for (const each of evidence)
    expect(await codeOf([each], wanted({ trustedRoot: late.trustedRoot }))).toBe("CERTIFICATE_EXPIRED");
  await late.stop();
});

it("a timestamp is as good as a log where the root names no log, and nothing is not", async () => {
  const { url } = sigstore;
  const root = JSON.stringify({ ...JSON.parse(sigstore.trustedRoot), tlogs: [] });
  const stamped = signerAt(sigstore, { rekorUrl: undefined, timestampUrl: url });
  for (const each of await evidenceOf(stamped)) {
    expect(await codeOf([each], wanted({ trustedRoot: root })), each.format).toBe("verified");
    expect(await codeOf([each], wanted())).toBe("SIGNATURE_INVALID");
    if (each.format !== "simple-signing") continue;
    expect(await codeOf([{ ...each, timestamp: null }], wanted({ trustedRoot: root }))).toBe(
      "SIGNATURE_INVALID",
    );
  }
  expect(() => signWithIdentity({ token: async () => "", fulcioUrl: url })).toThrow(/--rekor-url/);
});

it("one certificate is for all images of a run", async () => {
  const before = sigstore.issued();
  const signer = signerAt(sigstore);
  await Promise.all([evidenceOf(signer), evidenceOf(signer)]);
  expect(sigstore.issued() - before).toBe(1);
});

it("a root that is none is TRUSTED_ROOT_INVALID, and Fulcio that is not there SIGNING_FAILED", async () => {
  const evidence = await evidenceOf(signerAt(sigstore));
  const root = JSON.parse(sigstore.trustedRoot);
  root.tlogs[0].publicKey.validFor = { end: "2100-01-01T00:00:00Z" };
  for (const trustedRoot of [
    JSON.stringify(root),
    "",
    "{}",
    '{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}',
  ])
    expect(await codeOf(evidence, wanted({ trustedRoot }))).toBe("TRUSTED_ROOT_INVALID");
  const nowhere = signerAt(sigstore, { fulcioUrl: "http://127.0.0.1:1" });
  await expect(nowhere.signStatement({})).rejects.toMatchObject({ code: "SIGNING_FAILED" });
});
