/** What is signed has its name only then, and what a stranger has named is not taken over. */

import { describe, expect, it } from "vitest";
import type { PublishRequest } from "../../src/fleet/build/publisher.ts";
import { ImgmatchError } from "../../src/errors.ts";
import { type FleetSigner, signedPublisher } from "../../src/fleet/sign-fleet.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { registryPublisher } from "../../src/fleet/publish/publish-image.ts";
import { createMemoryRegistry } from "./publish/support/memory-registry.ts";

const inputDigest: Digest = `sha256:${"1234567890abcdef".repeat(4)}`;
const labels = { "dev.imgmatch.inputs": inputDigest };
const name = {
  reference: parseImageReference("registry.example.com/team/app:1.0"),
  platform: "linux/amd64",
  inputDigest,
};

function setUp(more: Partial<FleetSigner> = {}) {
  const registry = createMemoryRegistry();
  const signed = new Set<Digest>();
  const sign = async (digest: Digest) => void signed.add(digest);
  const requireSigned: FleetSigner["requireSigned"] = async (_, digest) => {
    if (!signed.has(digest)) throw new ImgmatchError({ code: "SIGNATURE_MISSING", message: "nobody's" });
  };
  const publisher = signedPublisher(registryPublisher(registry, { settleMs: 500 }), {
    sign,
    requireSigned,
    ...more,
  });
  const request: PublishRequest = {
    ...name,
    engine: { push: async (_, to) => registry.pushImage(to.tag ?? "", labels, "mine") },
    image: { id: "mine", size: null },
    watch: { signal: new AbortController().signal, onLog: () => {} },
  };
  return { registry, signed, publisher, request };
}

describe("a publisher that signs", () => {
  it("signs what it has pushed while the tag does not name it yet, after it was opened", async () => {
    const seen: string[] = [];
    const { registry, publisher, request } = setUp({
      sign: async (_, { repository }) =>
        void seen.push(`signed in ${repository}, tagged: ${registry.tags.has("1.0")}`),
    });
    await publisher.publish({ ...request, examine: async () => void seen.push("opened") });
    expect(seen).toEqual(["opened", "signed in team/app, tagged: false"]);
    expect(registry.tags.has("1.0")).toBe(true);
  });

  it("gives no tag to what cannot be signed", async () => {
    const { registry, publisher, request } = setUp({
      sign: async () => {
        throw new ImgmatchError({ code: "SIGNING_FAILED", message: "no key" });
      },
    });
    await expect(publisher.publish(request)).rejects.toMatchObject({ code: "SIGNING_FAILED" });
    expect(registry.tags.has("1.0")).toBe(false);
  });

  it("takes over what was signed, and neither finds nor publishes over what a stranger has put there", async () => {
    const { registry, signed, publisher, request } = setUp();
    const theirs = registry.pushImage("1.0", labels, "theirs");
    await expect(publisher.find(name)).rejects.toMatchObject({ code: "SIGNATURE_MISSING" });
    await expect(publisher.publish(request)).rejects.toMatchObject({ code: "SIGNATURE_MISSING" });
    expect(registry.tags.get("1.0")).toBe(theirs);
    signed.add(theirs);
    expect(await publisher.find(name)).toMatchObject({ digest: theirs });
    expect(await publisher.publish(request)).toMatchObject({ digest: theirs, how: "adopted" });
  });
});
