/** A version's tag never names an index that nobody has vouched for yet. */

import { describe, expect, it } from "vitest";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { type IndexRequest, publishIndex } from "../../src/publish/publish-index.ts";
import { image } from "../resolve/support/locks.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");

function request(registry: MemoryRegistry, cell: string, vouch: IndexRequest["vouch"]): IndexRequest {
  const digest = registry.pushImage(`1.0-${cell}`, {}, cell);
  const { axes, platform, inputDigest, requires } = image();
  const images = new Map([[cell, { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest }]]);
  return { registry, reference, name: "app", version: "1.0", images, settleMs: 2000, vouch };
}

describe("vouching for an index", () => {
  it("happens when the registry has it and the tag does not name it, the images first", async () => {
    const registry = createMemoryRegistry();
    const seen: (readonly Digest[])[] = [];
    const published = await publishIndex(
      request(registry, "a", async (digests) => {
        const index = digests.at(-1) ?? "sha256:";
        expect(await registry.readManifest(withDigest(reference, index))).not.toBeNull();
        if (seen.length === 0) expect(await registry.findManifest(reference)).toBeNull();
        seen.push(digests);
      }),
    );
    const [first = []] = seen;
    expect(first.at(-1)).toBe(published.digest);
    expect(first).toHaveLength(2);
  });

  it("that fails leaves the tag as it was", async () => {
    const registry = createMemoryRegistry();
    await publishIndex(request(registry, "a", undefined));
    const before = await registry.findManifest(reference);
    const failing = request(registry, "b", async () => {
      throw new Error("no signature");
    });
    await expect(publishIndex(failing)).rejects.toThrow("no signature");
    expect(await registry.findManifest(reference)).toEqual(before);
  });

  it("is asked of an index that is there already, and of one with another publisher's cells", async () => {
    const registry = createMemoryRegistry();
    const { digest } = await publishIndex(request(registry, "a", undefined));
    const seen: (Digest | undefined)[] = [];
    const vouch: IndexRequest["vouch"] = async (digests) => void seen.push(digests.at(-1));
    expect(await publishIndex(request(registry, "a", vouch))).toMatchObject({ how: "unchanged" });
    expect(seen).toEqual([digest]);
    const both: (readonly Digest[])[] = [];
    await publishIndex(request(registry, "b", async (digests) => void both.push(digests)));
    expect(both[0]).toHaveLength(3);
  });
});
