import { describe, expect, it } from "vitest";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { transientTag } from "../../../src/oci/registry/transient-tag.ts";
import { sweep } from "../../../src/fleet/publish/sweep.ts";
import { createMemoryRegistry } from "./support/memory-registry.ts";

const app = parseImageReference("registry.example.com/team/app:1.0-a");

function setUp(options: Parameters<typeof createMemoryRegistry>[0] = {}) {
  const registry = createMemoryRegistry(options);
  const published = registry.pushImage("1.0-a", {}, "a");
  const killed = transientTag(app.tag ?? "");
  // The publisher's manifest is the one that is published.
  registry.tags.set(killed, published);
  const other = transientTag(app.tag ?? "");
  registry.pushImage(other, {}, "b");
  registry.pushImage("imgmatch-2.0", {}, "c");
  return { registry, published, transient: [killed, other].sort() };
}

describe("sweep", () => {
  it("removes transient tags, and no published image with them", async () => {
    const { registry, published, transient } = setUp();
    expect(await sweep(app, { registry, keep: new Set() })).toEqual({ removed: transient, emptied: [] });
    expect([...registry.tags.keys()].sort()).toEqual(["1.0-a", "imgmatch-2.0"]);
    expect(registry.tags.get("1.0-a")).toBe(published);
    expect(registry.manifests.has(published)).toBe(true);
    expect(await sweep(app, { registry, keep: new Set() })).toEqual({ removed: [], emptied: [] });
  });

  it("removes an empty index where the registry removes manifests alone", async () => {
    const { registry, published, transient } = setUp();
    const byDigest = { ...registry, removeTag: async () => false };
    expect(await sweep(app, { registry: byDigest, keep: new Set() })).toEqual({
      removed: transient,
      emptied: [],
    });
    expect([...registry.tags.keys()].sort()).toEqual(["1.0-a", "imgmatch-2.0"]);
    expect(registry.manifests.has(published)).toBe(true);
  });

  it("empties them where nothing can be removed, and keeps the tags of the lock", async () => {
    const { registry, published, transient } = setUp({ removesTags: false });
    const [first = "", second = ""] = transient;
    expect(await sweep(app, { registry, keep: new Set([first]) })).toEqual({
      removed: [],
      emptied: [second],
    });
    expect(registry.tags.get("1.0-a")).toBe(published);
    expect(registry.tags.get(second)).not.toBe(published);
  });
});
