/** What is attached can be found afterwards, whatever a registry says of its list of referrers. */

import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { referrersTag } from "../../src/oci/registry/attachment-tags.ts";
import { attach } from "../../src/oci/registry/attach.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { findReferrers } from "../../src/oci/registry/find-referrers.ts";
import { signWithKey } from "../../src/trust/sign/make-signer.ts";
import { signImages } from "../../src/trust/sign/sign-images.ts";
import { verifyEvidence } from "./support/verify-evidence.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../fleet/publish/support/memory-registry.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");
const artifact = { artifactType: "text/plain", content: Buffer.from("a note"), annotations: {} };

/** `missing`: so many answers of its list, 200 each, name nothing. */
function setUp(missing: number): { registry: MemoryRegistry; digest: Digest; waits: number[]; sleep: Sleep } {
  const memory = createMemoryRegistry({ listsReferrers: true });
  const digest = memory.pushImage("1.0", {}, "an image");
  let answers = 0;
  const readReferrers: MemoryRegistry["readReferrers"] = async (...asked) =>
    answers++ < missing ? [] : memory.readReferrers(...asked);
  const waits: number[] = [];
  return { registry: { ...memory, readReferrers }, digest, waits, sleep: async (ms) => waits.push(ms) };
}
type Sleep = (ms: number) => Promise<unknown>;

describe("an artifact", () => {
  it("is left to a list that names it, at once or a little later", async () => {
    for (const missing of [0, 2]) {
      const { registry, digest, waits, sleep } = setUp(missing);
      await attach(registry, { reference, digest }, artifact, { sleep });
      expect(waits).toHaveLength(missing);
      expect(registry.tags.has(referrersTag(digest))).toBe(false);
    }
  });

  it("goes under the fallback tag where the list is there and never names it", async () => {
    const { registry, digest, waits, sleep } = setUp(Number.POSITIVE_INFINITY);
    const { digest: attached, lookAgain } = await attach(registry, { reference, digest }, artifact, {
      sleep,
    });
    const found = await findReferrers(registry, { reference, digest });
    expect(found.map((each) => each.digest)).toEqual([attached]);
    const before = waits.length;
    expect(await lookAgain()).toBe(false);
    expect(waits).toHaveLength(before);
    registry.tags.delete(referrersTag(digest));
    expect(await lookAgain()).toBe(true);
    expect(await findReferrers(registry, { reference, digest })).toHaveLength(1);
  });
});

it("a bundle is found by whoever verifies, where the registry lists nothing", async () => {
  const { registry, digest, sleep } = setUp(Number.POSITIVE_INFINITY);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const key = {
    name: "test.key",
    publicKey: pem,
    sign: async (text: Uint8Array) => sign("sha256", text, privateKey),
  };
  const options = { registry, signer: signWithKey(key), format: "bundle", sleep } as const;
  expect(await signImages(reference, [digest], options)).toEqual({
    forms: ["bundle"],
    signed: [digest],
    kept: [],
  });
  const evidence = await findEvidence(registry, { reference, digest });
  const signers = [{ kind: "key", name: "test.pub", pem }] as const;
  await expect(verifyEvidence(evidence, { reference, digest }, signers)).resolves.toBeDefined();
  expect(await signImages(reference, [digest], options)).toEqual({
    forms: ["bundle"],
    signed: [],
    kept: [digest],
  });
});
