/** What a registry in memory shows that a real one does rarely: shared manifests, a list that is cut, a name that comes in between. */

import { expect, it } from "vitest";
import { findRetired } from "../../../src/fleet/prune/retired-images.ts";
import { readNamedContent } from "../../../src/fleet/prune/named-content.ts";
import { removeContent } from "../../../src/fleet/prune/remove-content.ts";
import { transientTag } from "../../../src/oci/registry/transient-tag.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { indexTypes } from "../../../src/oci/media-types.ts";
import { parseImageReference, withDigest, withTag } from "../../../src/oci/reference.ts";
import { manifestOf } from "../../../src/oci/registry/manifests.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../publish/support/memory-registry.ts";

const home = parseImageReference("registry.example.com/team/app");
const lock = { ...lockOf({}), name: "app", version: "2.0", repository: "registry.example.com/team/app" };
const labels = { "dev.imgmatch.inputs": `sha256:${"b".repeat(64)}` };

type Registry = MemoryRegistry;

/** Version 1.0 with an image by BuildKit, which has an index around it, and a plain one. */
async function setUp(options: Parameters<typeof createMemoryRegistry>[0] = {}) {
  const registry = createMemoryRegistry(options);
  const attested = registry.pushAttested("1.0-a", labels, "a");
  const plain = registry.pushImage("1.0-b", labels, "b");
  const row = (tag: string, digest: Digest): IndexedImage => {
    const { axes, platform, inputDigest, requires } = image();
    return { axes, platform, inputDigest, requires, tag, digest };
  };
  const images = new Map([
    ["a", row("1.0-a", attested)],
    ["b", row("1.0-b", plain)],
  ]);
  await publishIndex({
    registry,
    reference: withTag(home, "1.0"),
    name: "app",
    version: "1.0",
    images,
    settleMs: 1,
  });
  return { registry, attested, plain };
}

async function look(registry: Registry, refs: Parameters<typeof findRetired>[2]["refs"] = []) {
  const named = await readNamedContent(registry, home);
  const { images } = await findRetired(named, ["1.0"], { lock, refs }, registry);
  const remove = async (digest: Digest) => {
    const found = images.find((each) => each.digest === digest);
    if (found === undefined) throw new Error("no such image");
    const roots = [digest, ...found.inner];
    const below = (await Promise.all(roots.map(named.closureOf))).flat();
    return removeContent({ roots, below, tags: found.tags }, named, registry);
  };
  return {
    images,
    remove,
    stays: Object.fromEntries(images.map(({ cells: [cell], stays }) => [cell, stays])),
  };
}

it("removes an image of BuildKit with the index around it and its attestation, and no other", async () => {
  const { registry, attested, plain } = await setUp();
  const parts = registry.partsOf(attested);
  const { remove, stays } = await look(registry);
  expect(stays).toEqual({ a: null, b: null });
  expect(await remove(attested)).toEqual({ how: "gone" });
  expect([attested, ...parts].filter((digest) => registry.manifests.has(digest))).toEqual([]);
  expect([...registry.tags.keys()].sort()).toEqual(["1.0", "1.0-b"]);
  expect(registry.tags.get("1.0-b")).toBe(plain);
  expect((await look(registry)).stays).toEqual({ b: null });
});

it("keeps what an index by hand names, at any depth and without a word of its parts", async () => {
  const { registry, attested, plain } = await setUp();
  const [inner] = registry.partsOf(attested);
  const below = manifestOf(indexTypes.oci, { manifests: [{ digest: inner }] });
  await registry.writeManifest(withDigest(home, below.digest), below);
  await registry.writeManifest(
    withTag(home, "hand"),
    manifestOf(indexTypes.oci, { manifests: [{ digest: below.digest }, { digest: plain }] }),
  );
  const by = "named by the tag hand";
  expect((await look(registry)).stays).toEqual({ a: by, b: by });
});

it("keeps what imgmatch did not build, and what the lock of a ref names", async () => {
  const { registry, plain } = await setUp();
  const foreign = registry.pushImage("1.0-b", {}, "theirs");
  registry.tags.set("1.0-b", plain);
  const theirs = lockOf({ x: image({ digest: plain }) });
  const refs = [{ ref: "v1", lock: { ...theirs, repository: lock.repository } }];
  expect((await look(registry, refs)).stays).toEqual({ a: null, b: "named by the lock of v1" });
  const elsewhere = [{ ref: "v1", lock: { ...theirs, repository: "registry.example.com/team/other" } }];
  expect((await look(registry, elsewhere)).stays).toEqual({ a: null, b: null });
  expect(registry.manifests.has(foreign)).toBe(true);
});

it("stops at a list of tags that is cut, at an index that is damaged, and at one of another format", async () => {
  const { registry } = await setUp();
  const cut = {
    ...registry,
    listTags: async function* () {
      yield* ["1.0", "1.0-a"];
    },
  };
  await expect(look(cut)).rejects.toMatchObject({
    code: "REGISTRY_FAILED",
    message: expect.stringContaining("list of tags"),
  });
  const index = (annotations: object, manifests: object[]) =>
    manifestOf(indexTypes.oci, { annotations, manifests });
  for (const [damaged, code] of [
    [index({ "dev.imgmatch.index": "9" }, []), "INDEX_FORMAT"],
    [index({ "dev.imgmatch.index": "2" }, [{ annotations: { "dev.imgmatch.cell": "a" } }]), "INDEX_INVALID"],
    [index({}, [{ platform: {} }]), "REGISTRY_FAILED"],
  ] as const) {
    await registry.writeManifest(withTag(home, "other"), damaged);
    await expect(look(registry), code).rejects.toMatchObject({ code });
  }
});

it("looks again before it removes: a new tag keeps the image, a publisher stops it", async () => {
  const { registry, attested, plain } = await setUp();
  const { remove } = await look(registry);
  registry.tags.set("found", plain);
  expect(await remove(plain)).toEqual({ how: "stays", why: "named by the tag found" });
  registry.tags.set(transientTag("2.0-x"), attested);
  await expect(remove(attested)).rejects.toMatchObject({ code: "PUBLISHER_AT_WORK" });
  expect(registry.tags.get("1.0-a")).toBe(attested);
  expect(registry.tags.get("1.0-b")).toBe(plain);
});

it("looks again at the indexes of fleets, which change under their tags", async () => {
  const { registry, plain } = await setUp();
  const publish = (cells: readonly [string, IndexedImage][]) =>
    publishIndex({
      registry,
      reference: withTag(home, "2.0"),
      name: "app",
      version: "2.0",
      images: new Map(cells),
      settleMs: 1,
    });
  const { axes, platform, inputDigest, requires } = image();
  const row = (tag: string, digest: Digest) => ({ axes, platform, inputDigest, requires, tag, digest });
  await publish([["c", row("2.0-c", registry.pushImage("2.0-c", labels, "c"))]]);
  const { remove } = await look(registry);
  await publish([["b", row("1.0-b", plain)]]);
  expect(await remove(plain)).toEqual({ how: "stays", why: "named by the tag 2.0" });
});

it("keeps a manifest that the attachments of two images share", async () => {
  const { registry, attested, plain } = await setUp();
  const sbom = registry.pushImage("sbom", {}, "the same packages");
  registry.tags.delete("sbom");
  const tagOf = (digest: Digest) => `${digest.replace(":", "-")}.sbom`;
  for (const digest of [attested, plain]) registry.tags.set(tagOf(digest), sbom);
  const { remove } = await look(registry);
  expect(await remove(plain)).toEqual({ how: "gone" });
  expect(registry.tags.has(tagOf(plain))).toBe(false);
  expect(registry.tags.get(tagOf(attested))).toBe(sbom);
  expect(registry.manifests.has(sbom)).toBe(true);
  expect(await remove(attested)).toEqual({ how: "gone" });
  expect(registry.manifests.has(sbom)).toBe(false);
});

it("empties the tag where the registry removes neither tags nor manifests, and says so", async () => {
  const { registry, plain } = await setUp({ removesTags: false });
  const { remove } = await look(registry);
  expect(await remove(plain)).toEqual({ how: "emptied" });
  expect(registry.manifests.has(plain)).toBe(true);
  expect(registry.tags.get("1.0-b")).not.toBe(plain);
});
