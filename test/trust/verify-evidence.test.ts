/** Verifies signatures of cosign 2.6.5 and 3.1.3 with keys of every kind, as a registry had them: right key, wrong key, other image, damaged. */

import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { checked, list } from "../../src/io/checks.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { type Evidence, evidence as isEvidence } from "../../src/trust/evidence.ts";
import type { TrustedKey } from "../../src/trust/trusted-signers.ts";
import { verifyEvidence } from "./support/verify-evidence.ts";
import cosign from "../fixtures/signatures/cosign.json" with { type: "json" };

const digest = cosign.digest as Digest;
const subject = { reference: parseImageReference("registry.example.com/mirror/app:1"), digest };
const keys = Object.entries(cosign.keys).map(([name, { pem, evidence }]) => {
  const reading = checked(evidence, list(isEvidence), name);
  if (!reading.ok) throw new Error(reading.mistakes.join());
  return { name, evidence: reading.value, signer: { kind: "key", name: `${name}.pub`, pem } as TrustedKey };
});
const first = keys[0];
if (first === undefined) throw new Error("no keys");

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "verified",
    (error) => (error instanceof ImgmatchError ? `${error.code} ${error.exitCode}` : String(error)),
  );

describe.each(keys)("signed with $name", ({ evidence, signer }) => {
  it.each(["bundle", "simple-signing"] as const)("%s verifies", async (format) => {
    const of = evidence.filter((each) => each.format === format);
    expect(of).toHaveLength(1);
    expect(await verifyEvidence(of, subject, [signer])).toMatchObject({ signer, format, identity: null });
  });

  it("of another digest it is SIGNATURE_OTHER_DIGEST", async () => {
    const other = { ...subject, digest: digestOf("another") };
    for (const each of evidence)
      expect(await codeOf(verifyEvidence([each], other, [signer]))).toBe("SIGNATURE_OTHER_DIGEST 6");
  });

  it("by any other key it is SIGNATURE_WRONG_SIGNER", async () => {
    for (const other of keys.filter((each) => each.signer !== signer))
      expect(await codeOf(verifyEvidence(evidence, subject, [other.signer]))).toBe(
        "SIGNATURE_WRONG_SIGNER 6",
      );
  });

  it("with one bit changed in the payload it does not verify", async () => {
    for (const each of evidence)
      expect(await codeOf(verifyEvidence([changed(each)], subject, [signer]))).toMatch(
        /SIGNATURE_(INVALID|WRONG_SIGNER) 6/,
      );
  });
});

it("nothing at all is SIGNATURE_MISSING", async () => {
  expect(await codeOf(verifyEvidence([], subject, [first.signer]))).toBe("SIGNATURE_MISSING 6");
});

/** The same with another digest in what is signed. */
function changed(each: Evidence): Evidence {
  const edit = (payload: string) =>
    Buffer.from(Buffer.from(payload, "base64").toString().replace(/3694/, "3695")).toString("base64");
  if (each.format === "simple-signing") return { ...each, payload: edit(each.payload) };
  if (each.format === "unread" || each.format === "refused") throw new Error(each.why);
  const bundle = JSON.parse(each.content);
  bundle.dsseEnvelope.payload = edit(bundle.dsseEnvelope.payload);
  return { ...each, content: JSON.stringify(bundle) };
}
