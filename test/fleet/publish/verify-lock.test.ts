import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/lock/lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { formatFleetIndex } from "../../../src/lock/store/format-fleet-index.ts";
import { verifyLock } from "../../../src/fleet/publish/verify-lock.ts";
import { indexOf } from "../../oci/registry/support/index-of-lock.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { shownImages } from "../../../src/resolve/shown-images.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

function setUp(): { registry: MemoryRegistry; lock: Lock } {
  const registry = createMemoryRegistry();
  const cells = ["a", "b", "c"].map((cell) => [cell, image({ digest: registry.pushImage(cell, {}, cell) })]);
  return { registry, lock: lockOf({ ...Object.fromEntries(cells), local: image({ digest: null }) }) };
}

describe("verifyLock", () => {
  it("finds nothing where nothing has changed", async () => {
    const { registry, lock } = setUp();
    expect(await verifyLock(lock, { registry })).toEqual({
      repository: lock.repository,
      intact: 3,
      unpublished: ["local"],
      drift: [],
      channels: [],
      conflicts: [],
    });
  });

  it("tells of every entry of the version's index that is not as the lock says", async () => {
    const { registry, lock } = setUp();
    const attested = registry.pushAttested("a", {}, "a");
    const images: Lock["images"] = { ...lock.images, a: image({ tag: "a", digest: attested }) };
    const asLocked = { ...lock, images };
    const [inside] = registry.partsOf(attested);
    const other = registry.pushImage("x", {}, "other");
    const reference = parseImageReference(`${lock.repository}:${lock.version}`);
    const found = async (descriptors: Readonly<Record<string, Digest>>, said: Lock = asLocked) => {
      const index = indexOf(said);
      const entries = [...index.entries].map(([cell, entry]) => {
        const digest = descriptors[cell] ?? entry.descriptor.digest;
        return [cell, { ...entry, descriptor: { ...entry.descriptor, digest } }] as const;
      });
      const { top } = formatFleetIndex({ ...index, entries: new Map(entries) }, shownImages(index));
      await registry.writeManifest(reference, top);
      const { conflicts, drift } = await verifyLock(asLocked, { registry });
      expect(drift).toEqual([]);
      return conflicts.map(({ code, message }) => `${code} ${message.replace(/^[^ ]* /, "")}`);
    };
    expect(await found({ a: inside as Digest })).toEqual([]);
    // A cell of another publisher's.
    const more = { ...asLocked, images: { ...images, d: image({ digest: other }) } };
    expect(await found({ a: inside as Digest }, more)).toEqual([]);
    for (const cell of ["a", "b"] as const)
      expect(await found({ a: inside as Digest, [cell]: other })).toEqual([
        `INDEX_CONFLICT names ${other} for ${cell}, whose image is ${images[cell]?.digest}`,
      ]);
    const changed = { ...asLocked, images: { ...images, b: image({ digest: other }) } };
    expect(await found({ a: inside as Digest }, changed)).toEqual([
      `INDEX_CONFLICT has b as ${other}; the lock has ${images.b?.digest}`,
    ]);
  });

  it("tells what moved, vanished and was lost, and heals what is still there", async () => {
    const { registry, lock } = setUp();
    const other = registry.pushImage("a", {}, "other");
    registry.tags.delete("b");
    const lost = { ...lock, images: { ...lock.images, c: image({ tag: "c", digest: other }) } };
    const gone: MemoryRegistry = {
      ...registry,
      readManifest: async (reference) =>
        reference.digest === other ? null : registry.readManifest(reference),
    };
    const { a, b, c } = lock.images;
    const found = [
      { cell: "a", finding: "moved", digest: a?.digest, found: other, healed: false },
      { cell: "b", finding: "vanished", digest: b?.digest, found: null, healed: false },
      { cell: "c", finding: "lost", digest: other, found: c?.digest, healed: false },
    ];
    const seen = await verifyLock(lost, { registry: gone });
    expect(seen.drift).toMatchObject(found);
    expect(seen.drift[0]?.reference).toBe("registry.example.com/team/cv-tf:a");
    expect(registry.tags.get("a")).toBe(other);

    const healed = await verifyLock(lost, { registry: gone, heal: true });
    expect(healed.drift.map(({ healed }) => healed)).toEqual([true, true, false]);
    expect([registry.tags.get("a"), registry.tags.get("b")]).toEqual([a?.digest, b?.digest]);
    expect((await verifyLock(lost, { registry: gone })).drift).toHaveLength(1);
  });

  it("knows and heals images with attestations: their digest is that of an index", async () => {
    const registry = createMemoryRegistry();
    const digest = registry.pushAttested("a", {}, "a");
    const lock = lockOf({ a: image({ digest, tag: "a" }) });
    expect(await verifyLock(lock, { registry })).toMatchObject({ intact: 1, drift: [] });
    registry.tags.delete("a");
    const { drift } = await verifyLock(lock, { registry, heal: true });
    expect(drift).toMatchObject([{ finding: "vanished", healed: true }]);
    expect(registry.tags.get("a")).toBe(digest);
  });

  it("does not take a registry that fails for one that has lost everything", async () => {
    const { registry, lock } = setUp();
    const failing = { ...registry, findManifest: () => Promise.reject(new Error("503")) };
    await expect(verifyLock(lock, { registry: failing, heal: true })).rejects.toThrow("503");
  });

  it("does not call healed what did not stay", async () => {
    const { registry, lock } = setUp();
    registry.tags.delete("b");
    const forgetful = {
      ...registry,
      writeManifest: async (_: unknown, { digest }: { digest: `sha256:${string}` }) => digest,
    };
    const { drift } = await verifyLock(lock, { registry: forgetful, heal: true });
    expect(drift).toMatchObject([{ cell: "b", healed: false }]);
  });

  it("asks so many at a time, and no more", async () => {
    const { registry } = setUp();
    const many = Array.from({ length: 200 }, (_, number) => [`c${number}`, image()]);
    let running = 0;
    let most = 0;
    const counting: MemoryRegistry = {
      ...registry,
      findManifest: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 1));
        running--;
        return { digest: image().digest as `sha256:${string}`, mediaType: "x", size: 1 };
      },
    };
    const { intact } = await verifyLock(lockOf(Object.fromEntries(many)), { registry: counting });
    expect([intact, most]).toEqual([200, 16]);
  });
});
