/** A version's tag never names an index that nobody has vouched for yet. */

import { describe, expect, it } from "vitest";
import type { Digest } from "../../../src/oci/digest.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { type IndexRequest, publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import type { Vouching } from "../../../src/fleet/publish/seal.ts";
import { image } from "../../resolve/support/locks.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");

const anybodys = async () => {};

function request(
  registry: MemoryRegistry,
  cell: string,
  vouch?: Vouching["vouch"],
  requireVouched: Vouching["requireVouched"] = anybodys,
): IndexRequest {
  const digest = registry.pushImage(`1.0-${cell}`, {}, cell);
  const { axes, platform, inputDigest, requires } = image();
  const images = new Map([[cell, { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest }]]);
  const vouching = vouch === undefined ? {} : { vouching: { vouch, requireVouched } };
  return { registry, reference, name: "app", version: "1.0", images, settleMs: 2000, ...vouching };
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
    const vouch: Vouching["vouch"] = async (digests) => void seen.push(digests.at(-1));
    expect(await publishIndex(request(registry, "a", vouch))).toMatchObject({ how: "unchanged" });
    expect(seen).toEqual([digest]);
    const both: (readonly Digest[])[] = [];
    await publishIndex(request(registry, "b", async (digests) => void both.push(digests)));
    expect(both[0]).toHaveLength(3);
  });

  it("is refused for cells that nobody who counts has vouched for, and the tag stays as it was", async () => {
    const registry = createMemoryRegistry();
    const { digest: planted } = await publishIndex(request(registry, "evil"));
    const vouched: Digest[] = [];
    const publish = (cell: string) =>
      publishIndex(
        request(
          registry,
          cell,
          async (digests) => void vouched.push(...digests),
          async (index) => {
            if (!vouched.includes(index)) throw new Error(`nobody's: ${index}`);
          },
        ),
      );
    await expect(publish("a")).rejects.toThrow(`nobody's: ${planted}`);
    expect(vouched).toEqual([]);
    expect(registry.tags.get("1.0")).toBe(planted);
    // Also where the planted index has all of ours already.
    const { digest: both } = await publishIndex(request(registry, "a"));
    await expect(publish("a")).rejects.toThrow(`nobody's: ${both}`);
    // Nor is the index of another version, however good its signature.
    const elsewhere = { ...request(registry, "b", async () => {}), version: "1.1" };
    await expect(publishIndex(elsewhere)).rejects.toMatchObject({ code: "INDEX_CONFLICT" });
    // Nor is one that was published in another repository: the memory registry has every repository's tags.
    const prod = { ...reference, repository: "prod/app" };
    await expect(
      publishIndex({ ...request(registry, "b", async () => {}), reference: prod }),
    ).rejects.toMatchObject({ code: "INDEX_CONFLICT" });
    // Nor do the other rows of an index of which one cell is replaced.
    const part = { replace: new Set(["a"]) };
    await expect(
      publishIndex({
        ...request(
          registry,
          "a",
          async () => {},
          () => Promise.reject(new Error("nobody's")),
        ),
        ...part,
      }),
    ).rejects.toThrow("nobody's");
    // Evidence that counts is taken along, as the cells of another job of the same signer are.
    vouched.push(both);
    expect(await publish("b")).toMatchObject({ how: "written", cells: 3 });
  });
});
