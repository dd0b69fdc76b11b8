import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import type { Problem } from "../../../src/errors.ts";
import type { Notice } from "../../../src/io/world.ts";
import { type PublicationEvent, tellPublication } from "../../../src/fleet/publish/publication.ts";
import { announcementOf } from "../../../src/fleet/publish/announcement.ts";
import { emptyIndex, isTransientTag } from "../../../src/oci/registry/transient-tag.ts";
import { type IndexRequest, publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import type { Manifest, ManifestDescriptor } from "../../../src/oci/descriptor.ts";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import { parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { RegistryError } from "../../../src/oci/registry/registry-error.ts";
import { image } from "../../resolve/support/locks.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");

function push(registry: MemoryRegistry, cell: string, content = cell): [string, IndexedImage] {
  const digest = registry.pushImage(`1.0-${cell}`, {}, content);
  const { axes, platform, inputDigest, requires } = image();
  return [cell, { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest }];
}

function request(
  registry: MemoryRegistry,
  images: readonly [string, IndexedImage][],
  more: Partial<IndexRequest> = {},
): IndexRequest {
  return {
    registry,
    reference,
    name: "app",
    version: "1.0",
    images: new Map(images),
    settleMs: 2000,
    ...more,
  };
}

interface Entry {
  digest: Digest;
  platform: object;
  readonly annotations: Record<string, string>;
}

interface IndexJson {
  readonly annotations: Record<string, string>;
  readonly manifests: Entry[];
}

async function stored(registry: MemoryRegistry): Promise<Manifest> {
  const manifest = await registry.readManifest(reference);
  if (manifest === null) throw new Error("not written");
  return manifest;
}

function changed(manifest: Manifest, change: (index: IndexJson) => void): Manifest {
  const json = JSON.parse(Buffer.from(manifest.bytes).toString()) as IndexJson;
  change(json);
  const bytes = Buffer.from(JSON.stringify(json));
  return { ...manifest, bytes, digest: digestOf(bytes), size: bytes.byteLength };
}

async function cellsIn(registry: MemoryRegistry): Promise<string[]> {
  const stored = await readFleetIndex(registry, reference);
  return stored === null ? [] : [...parseFleetIndex(stored, reference).entries.keys()].sort();
}

describe("publishIndex", () => {
  it("that has nothing to write waits for a publisher that has looked before, and puts back what that one drops", async () => {
    const [registry, other] = [createMemoryRegistry(), createMemoryRegistry()];
    const a = push(registry, "a");
    await publishIndex(request(registry, [a]));
    // It saw no index, announced itself, and takes its time.
    await publishIndex(request(other, [push(other, "b")]));
    push(registry, "b");
    const announced = announcementOf(reference);
    await registry.writeManifest(announced, emptyIndex(announced.tag ?? ""));
    let polls = 0;
    const late = async () => {
      if (++polls !== 2) return;
      await registry.writeManifest(reference, await stored(other));
      await registry.removeTag(announced);
    };
    const published = await publishIndex(request(registry, [a], { sleep: late }));
    expect(polls).toBeGreaterThan(1);
    expect(await cellsIn(registry)).toEqual(["a", "b"]);
    expect(published).toMatchObject({ how: "written", cells: 2, added: [], dropped: [] });
  });

  it("leaves no announcement where the registry has it and answers each try with 503", async () => {
    const registry = createMemoryRegistry();
    const over = new RegistryError(
      { code: "REGISTRY_FAILED", message: "PUT: 503" },
      { status: 503, temporary: true },
    );
    let failing = 0;
    const failed: MemoryRegistry = {
      ...registry,
      writeManifest: async (to, manifest) => {
        const stored = await registry.writeManifest(to, manifest);
        if (isTransientTag(to.tag ?? "") && failing++ < 5) throw over;
        return stored;
      },
    };
    const images = [push(registry, "a")];
    const sleep = async () => {};
    await expect(publishIndex(request(failed, images, { sleep }))).rejects.toBe(over);
    expect([...registry.tags.keys()]).toEqual(["1.0-a"]);
  });

  it("waits for an announcement that a list had, though a later list is one of before", async () => {
    const [registry, other] = [createMemoryRegistry(), createMemoryRegistry()];
    await publishIndex(request(other, [push(other, "b")]));
    push(registry, "b");
    const announced = announcementOf(reference);
    await registry.writeManifest(announced, emptyIndex(announced.tag ?? ""));
    let lists = 0;
    const late: MemoryRegistry = {
      ...registry,
      async *listTags(...given) {
        const isOfBefore = ++lists > 1;
        for await (const tag of registry.listTags(...given))
          if (!isOfBefore || tag !== announced.tag) yield tag;
      },
    };
    const end = async () => {
      if (lists !== 3) return;
      await registry.writeManifest(reference, await stored(other));
      await registry.removeTag(announced);
    };
    await publishIndex(request(late, [push(registry, "a")], { sleep: end }));
    expect(await cellsIn(registry)).toEqual(["a", "b"]);
  });

  it("writes an index, and nothing the second time", async () => {
    const registry = createMemoryRegistry();
    const images = [push(registry, "a"), push(registry, "b")];
    const first = await publishIndex(request(registry, images));
    expect(first).toMatchObject({ how: "written", cells: 2, added: ["a", "b"] });
    expect(registry.tags.get("1.0")).toBe(first.digest);
    const writes: string[] = [];
    const watched: MemoryRegistry = {
      ...registry,
      writeManifest: (to, manifest) => {
        writes.push(to.tag ?? "");
        return registry.writeManifest(to, manifest);
      },
    };
    const again = await publishIndex(request(watched, images));
    const plain = [{ platform: "linux/amd64", cell: null, withheld: "a" }];
    expect(again).toEqual({ ...first, how: "unchanged", added: [], plain });
    expect(writes).toEqual([]);
    expect([...registry.tags.keys()].sort()).toEqual(["1.0", "1.0-a", "1.0-b"]);
  });

  it("warns where not every machine of a platform starts an image, and shows runtimes none unless told to", async () => {
    const registry = createMemoryRegistry();
    const written = async (change: Partial<IndexRequest>) => {
      const published = await publishIndex({ ...request(registry, [push(registry, "a")]), ...change });
      const problems: Problem[] = [];
      const onEvent = (event: PublicationEvent | Notice) => {
        if (event.type === "problem") problems.push(event.problem);
      };
      tellPublication({ reference, missing: [], published }, null, { onEvent });
      const { manifests } = JSON.parse(Buffer.from((await stored(registry)).bytes).toString()) as IndexJson;
      return { problems, platforms: manifests.map(({ platform }) => platform) };
    };
    expect(await written({})).toEqual({
      problems: [
        {
          code: "BASELINE_MISSING",
          message:
            "no image starts on every machine of linux/amd64, so a plain pull of the version finds none: the least demanding one is a, and older CPUs would die of it",
          fix: "add a row without GPU code and with march x86-64 to the matrix; or, if all of your machines start a, plainPull: least",
        },
      ],
      platforms: [{ architecture: "unknown", os: "unknown" }],
    });
    expect(await written({ plainPull: "least" })).toEqual({
      problems: [],
      platforms: [{ architecture: "amd64", os: "linux" }],
    });
  });

  it("adds to what others have published", async () => {
    const registry = createMemoryRegistry();
    await publishIndex(request(registry, [push(registry, "a")]));
    const grown = await publishIndex(request(registry, [push(registry, "a"), push(registry, "b")]));
    expect(grown).toMatchObject({ how: "written", cells: 2, added: ["b"] });
  });

  const plants: Readonly<Record<string, (index: IndexJson, theirs: Digest) => void>> = {
    "another image under our digest": ({ manifests: [first] }, theirs) =>
      Object.assign(first ?? {}, {
        digest: theirs,
        annotations: { ...first?.annotations, "dev.imgmatch.digest": first?.digest },
      }),
    "another size": ({ manifests: [first] }) => Object.assign(first ?? {}, { size: 1 }),
    "another platform for runtimes": ({ manifests: [first] }) =>
      Object.assign(first?.platform ?? {}, { architecture: "arm64" }),
    "an entry without a cell": ({ manifests }, theirs) =>
      manifests.unshift({ ...manifests[0], digest: theirs, platform: {}, annotations: {} } as Entry),
    "another name": ({ annotations }) => {
      annotations["org.opencontainers.image.title"] = "theirs";
    },
  };
  it.each(Object.keys(plants))("keeps nothing of an index that has our cells and %s", async (plant) => {
    const registry = createMemoryRegistry();
    const images = [push(registry, "a"), push(registry, "b")];
    const ours = await publishIndex(request(registry, images));
    const theirs = registry.pushImage("x", {}, "theirs");
    for (const replace of [false, true]) {
      await registry.writeManifest(
        reference,
        changed(await stored(registry), (index) => plants[plant]?.(index, theirs)),
      );
      expect(registry.tags.get("1.0")).not.toBe(ours.digest);
      const again = await publishIndex(request(registry, images, { replace }));
      expect(again).toMatchObject({ how: replace ? "replaced" : "written", added: [], digest: ours.digest });
      expect(registry.tags.get("1.0")).toBe(ours.digest);
    }
  });

  it("takes along cells of others whose entries name what is in their images, and no others", async () => {
    const registry = createMemoryRegistry();
    const [cell, indexed] = push(registry, "a");
    const attested = { ...indexed, digest: registry.pushAttested("1.0-a", {}, "a") };
    await publishIndex(request(registry, [[cell, attested]]));
    const mine = [push(registry, "b")];
    expect(await publishIndex(request(registry, mine))).toMatchObject({ how: "written", cells: 2 });
    expect(await publishIndex(request(registry, mine))).toMatchObject({ how: "unchanged", cells: 2 });
    const theirs = registry.pushImage("x", {}, "theirs");
    const planted = changed(await stored(registry), ({ manifests }) => {
      for (const entry of manifests)
        if (entry.annotations["dev.imgmatch.cell"] === "a") entry.digest = theirs;
    });
    await registry.writeManifest(reference, planted);
    const refused = publishIndex(request(registry, mine));
    await expect(refused).rejects.toMatchObject({ code: "INDEX_CONFLICT" });
    await expect(refused).rejects.toThrow(`names ${theirs} for a, whose image is ${attested.digest}`);
    expect(registry.tags.get("1.0")).toBe(planted.digest);
    expect(await publishIndex(request(registry, mine, { replace: true }))).toMatchObject({ cells: 1 });
  });

  it("divides a large fleet, and reads it again", async () => {
    const registry = createMemoryRegistry();
    const images = ["a", "b", "c", "d"].map((cell) => push(registry, cell));
    await publishIndex(request(registry, images, { maxBytes: 1500 }));
    expect((await readFleetIndex(registry, reference))?.parts.length).toBeGreaterThan(0);
    expect(await cellsIn(registry)).toEqual(["a", "b", "c", "d"]);
  });

  it("refuses to say something else of a cell, unless the index is to be replaced", async () => {
    const registry = createMemoryRegistry();
    const [was, now] = [push(registry, "a", "then"), push(registry, "a", "now")];
    const before = await publishIndex(request(registry, [was, push(registry, "b")]));
    const refused = publishIndex(request(registry, [now]));
    await expect(refused).rejects.toMatchObject({ code: "INDEX_CONFLICT" });
    await expect(refused).rejects.toThrow(new RegExp(`${was[1].digest}.*${now[1].digest}`));
    expect(registry.tags.get("1.0")).toBe(before.digest);
    expect(await publishIndex(request(registry, [now], { replace: true }))).toMatchObject({
      how: "replaced",
    });
    expect(await cellsIn(registry)).toEqual(["a"]);
    expect([...registry.tags.keys()].filter((tag) => tag.startsWith("imgmatch-"))).toEqual([]);
  });

  describe("replacing the rows of some cells", () => {
    const only = (...cells: string[]) => ({ replace: new Set(cells) });

    it("keeps every other row, and names what it drops", async () => {
      const registry = createMemoryRegistry();
      const images = ["a", "b", "c", "d"].map((cell) => push(registry, cell));
      await publishIndex(request(registry, images));
      const now = push(registry, "a", "now");
      const replaced = await publishIndex(request(registry, [now], only("a")));
      expect(replaced).toMatchObject({ how: "replaced", cells: 4, added: [], dropped: [] });
      const stored = await readFleetIndex(registry, reference);
      const { entries } = parseFleetIndex(stored ?? expect.fail("no index"), reference);
      expect(
        [...entries]
          .map(
            ([
              cell,
              {
                image: { digest },
              },
            ]) => [cell, digest],
          )
          .sort(),
      ).toEqual([now, ...images.slice(1)].map(([cell, { digest }]) => [cell, digest]));
      // `d` was selected too, and has no image as the matrix says.
      const fewer = await publishIndex(request(registry, [now], only("a", "d")));
      expect(fewer).toMatchObject({ how: "replaced", cells: 3, dropped: ["d"] });
      expect(await publishIndex(request(registry, [now], only("a", "d")))).toMatchObject({
        how: "unchanged",
        cells: 3,
      });
      const all = await publishIndex(request(registry, [now], { replace: true }));
      expect(all).toMatchObject({ how: "replaced", cells: 1, dropped: ["b", "c"] });
    });

    it("takes along no row that names a wrong image, and none of an index that it cannot read", async () => {
      const registry = createMemoryRegistry();
      await publishIndex(request(registry, [push(registry, "a"), push(registry, "b")]));
      const good = await stored(registry);
      const [theirs, now] = [registry.pushImage("x", {}, "theirs"), push(registry, "a", "now")];
      const entryOf = ({ manifests }: IndexJson, cell: string) =>
        manifests.find(({ annotations }) => annotations["dev.imgmatch.cell"] === cell);
      for (const change of [
        (index: IndexJson) => {
          const entry = entryOf(index, "b");
          Object.assign(entry?.annotations ?? {}, { "dev.imgmatch.digest": entry?.digest });
          Object.assign(entry ?? {}, { digest: theirs });
        },
        ({ manifests }: IndexJson) => manifests.push(...manifests.slice(-1)),
      ]) {
        await registry.writeManifest(reference, changed(good, change));
        await expect(publishIndex(request(registry, [now], only("a")))).rejects.toMatchObject({
          exitCode: expect.toSatisfy((code) => code === 5 || code === 6),
        });
      }
      // The whole index is replaced, and what the damaged one had nobody knows.
      expect(await publishIndex(request(registry, [now], { replace: true }))).toMatchObject({
        how: "replaced",
        dropped: null,
      });
    });

    it("loses no row of publishers that replace other cells at once, and tells of one that replaces the same", async () => {
      const registry = createMemoryRegistry({ delay: async () => sleep(Math.random() * 8) });
      const cells = ["a", "b", "c", "d"];
      await publishIndex(
        request(
          registry,
          cells.map((cell) => push(registry, cell)),
        ),
      );
      const news = cells.map((cell) => push(registry, cell, `${cell} now`));
      await Promise.all(
        news.map((now) => publishIndex(request(registry, [now], { ...only(now[0]), settleMs: 30_000 }))),
      );
      const found = await readFleetIndex(registry, reference);
      const { entries } = parseFleetIndex(found ?? expect.fail("no index"), reference);
      expect([...entries.values()].map(({ image: { digest } }) => digest).sort()).toEqual(
        news.map(([, { digest }]) => digest).sort(),
      );
      // Another publisher's row comes right after ours.
      const [first, second] = [push(registry, "a", "first"), push(registry, "a", "second")];
      let isLate = false;
      const beaten: MemoryRegistry = {
        ...registry,
        writeManifest: async (to, manifest) => {
          const digest = await registry.writeManifest(to, manifest);
          if (to.tag === "1.0" && !isLate) {
            isLate = true;
            await publishIndex(request(registry, [second], { ...only("a"), settleMs: 50 }));
          }
          return digest;
        },
      };
      await expect(publishIndex(request(beaten, [first], only("a")))).rejects.toMatchObject({
        code: "INDEX_CONFLICT",
        message: expect.stringContaining("at the same time"),
      });
    });
  });

  it("refuses other requirements of the same image", async () => {
    const registry = createMemoryRegistry();
    const [cell, indexed] = push(registry, "a");
    await publishIndex(request(registry, [[cell, indexed]]));
    const changed = { ...indexed, requires: { ...indexed.requires, kernel: "4.4" } };
    await expect(publishIndex(request(registry, [[cell, changed]]))).rejects.toThrow(/other requirements/);
  });

  it.each(["1", "3"])("leaves alone what has format %s", async (format) => {
    const registry = createMemoryRegistry();
    const images = [push(registry, "a")];
    await publishIndex(request(registry, images));
    const written = await registry.readManifest(reference);
    if (written === null) throw new Error("not written");
    const foreign = changed(written, (index) => {
      index.annotations["dev.imgmatch.index"] = format;
    });
    await registry.writeManifest(reference, foreign);
    for (const replace of [false, true]) {
      const refused = publishIndex(request(registry, images, { replace }));
      await expect(refused).rejects.toMatchObject({
        code: "INDEX_FORMAT",
        problems: [
          { fix: "use the imgmatch that wrote the index, or publish a new version with this imgmatch" },
        ],
      });
    }
    expect(registry.tags.get("1.0")).toBe(foreign.digest);
  });

  it("never overwrites what imgmatch has not written, also not on demand", async () => {
    const registry = createMemoryRegistry();
    const theirs = registry.pushImage("1.0", {}, "theirs");
    for (const replace of [false, true]) {
      const refused = publishIndex(request(registry, [push(registry, "a")], { replace }));
      await expect(refused).rejects.toMatchObject({ code: "INDEX_CONFLICT" });
    }
    expect(registry.tags.get("1.0")).toBe(theirs);
  });

  it("names every image that the registry does not have, and writes nothing", async () => {
    const registry = createMemoryRegistry();
    const [cell, indexed] = push(registry, "a");
    const lost = { ...indexed, digest: `sha256:${"0".repeat(64)}` as Digest };
    const failing = publishIndex(request(registry, [push(registry, "b"), [cell, lost], ["c", lost]]));
    await expect(failing).rejects.toMatchObject({
      code: "REGISTRY_FAILED",
      problems: [expect.anything(), expect.anything()],
    });
    expect(registry.tags.has("1.0")).toBe(false);
  });

  it("waits for a killed publisher no longer than it may", async () => {
    const registry = createMemoryRegistry();
    let tag = "";
    let isDead = false;
    const killed: MemoryRegistry = {
      ...registry,
      writeManifest: async (to, manifest) => {
        isDead ||= to.tag === "1.0";
        if (isDead) throw new Error("killed");
        tag = to.tag ?? "";
        return registry.writeManifest(to, manifest);
      },
      removeTag: async () => {
        throw new Error("killed");
      },
    };
    await expect(publishIndex(request(killed, [push(registry, "a")]))).rejects.toThrow("killed");
    expect(registry.tags.has(tag)).toBe(true);
    const started = performance.now();
    await publishIndex(request(registry, [push(registry, "a")], { settleMs: 300 }));
    expect(performance.now() - started).toBeGreaterThan(290);
  });

  it.each([
    ["a third of", 3, true],
    ["all", 1, false],
  ])("goes on where %s the reads fail while it waits", async (_, every, ends) => {
    const registry = createMemoryRegistry();
    const refused = () =>
      new RegistryError({ code: "REGISTRY_FAILED", message: "412", fix: "" }, { status: 412 });
    let [isWritten, reads] = [false, 0];
    const fail = (): void => {
      if (isWritten && ++reads % every === 0) throw refused();
    };
    const failing: MemoryRegistry = {
      ...registry,
      writeManifest: async (to, manifest) => {
        const done = await registry.writeManifest(to, manifest);
        isWritten ||= to.tag === "1.0";
        return done;
      },
      listTags: (...given) => {
        fail();
        return registry.listTags(...given);
      },
      findManifest: async (...given) => {
        fail();
        return registry.findManifest(...given);
      },
      readManifest: async (...given) => {
        fail();
        return registry.readManifest(...given);
      },
    };
    const published = publishIndex(request(failing, [push(registry, "a")], { settleMs: 300 }));
    if (ends) expect((await published).how).toBe("written");
    else await expect(published).rejects.toThrow("412");
    expect(reads).toBeGreaterThan(3);
    expect(await cellsIn(registry)).toEqual(["a"]);
  });

  it.each([true, false])(
    "loses no cell of publishers that write at once (registry removes tags: %s)",
    { timeout: 120_000 },
    async (removesTags) => {
      await fc.assert(
        fc.asyncProperty(
          fc.infiniteStream(fc.integer({ min: 0, max: 8 })),
          fc.integer({ min: 2, max: 8 }),
          async (delays, count) => {
            const registry = createMemoryRegistry({
              removesTags,
              delay: async () => sleep(delays.next().value),
            });
            const mine = Array.from({ length: count }, (_, index) => [push(registry, `cell-${index}`)]);
            const published = await Promise.all(
              mine.map(async (images) => {
                await sleep(delays.next().value * 6);
                const result = await publishIndex(request(registry, images, { settleMs: 30_000 }));
                // Also right after leaving, whatever the others are still doing.
                expect(await cellsIn(registry)).toContain(images[0]?.[0]);
                return result;
              }),
            );
            expect(await cellsIn(registry)).toHaveLength(count);
            expect(published.at(-1)?.cells).toBeGreaterThan(0);
            const standing = [...registry.tags].filter(([tag]) => isTransientTag(tag));
            if (removesTags) expect(standing).toEqual([]);
            else expect(new Set(standing.map(([, digest]) => digest)).size).toBe(1);
          },
        ),
        { numRuns: 15 },
      );
    },
  );

  describe("with what the lock has noted of the manifests", () => {
    /** Forty images and their manifests, and every digest that the registry is asked for. */
    async function fleet() {
      const registry = createMemoryRegistry();
      const images = Array.from({ length: 40 }, (_, index) => push(registry, `c${index}`));
      const manifests = new Map<string, ManifestDescriptor>();
      for (const [cell, { digest }] of images) {
        const found = await registry.findManifest(withDigest(reference, digest));
        if (found !== null) manifests.set(cell, found);
      }
      const asked: Digest[] = [];
      const watched: MemoryRegistry = {
        ...registry,
        findManifest: (to) => {
          if (to.digest !== null) asked.push(to.digest);
          return registry.findManifest(to);
        },
      };
      return { registry, watched, images, manifests, asked };
    }

    it("asks for no image whose tag is listed, and writes the same index", async () => {
      const { watched, images, manifests, asked } = await fleet();
      const noted = await publishIndex(request(watched, images, { manifests }));
      expect(noted.added).toHaveLength(40);
      expect(asked).toEqual([]);
      const plain = await publishIndex(request((await fleet()).watched, images));
      expect(plain.digest).toBe(noted.digest);
    });

    it("asks for one whose tag is gone, whose digest is another, or that is an index of its own", async () => {
      const { registry, watched, images, manifests, asked } = await fleet();
      registry.tags.delete("1.0-c0");
      const note = (cell: string, change: Partial<ManifestDescriptor>) =>
        manifests.set(cell, { ...(manifests.get(cell) as ManifestDescriptor), ...change });
      note("c1", { digest: images[2]?.[1].digest as Digest });
      note("c2", { mediaType: "application/vnd.oci.image.index.v1+json" });
      await publishIndex(request(watched, images, { manifests }));
      expect([...asked].sort()).toEqual([0, 1, 2].map((index) => images[index]?.[1].digest).sort());
    });

    it("names the image that is gone, though its tag is listed, when the registry refuses the index", async () => {
      const { registry, watched, images, manifests } = await fleet();
      const gone = images[7]?.[1].digest as Digest;
      registry.manifests.delete(gone);
      const refusing: MemoryRegistry = {
        ...watched,
        writeManifest: (to, manifest) => {
          if (Buffer.from(manifest.bytes).includes(gone))
            throw new RegistryError({ code: "REGISTRY_FAILED", message: "400" }, { status: 400 });
          return registry.writeManifest(to, manifest);
        },
      };
      await expect(publishIndex(request(refusing, images, { manifests }))).rejects.toThrow(
        `the registry does not have ${gone}, which the lock names for c7`,
      );
      expect([...registry.tags.keys()].filter((tag) => !tag.startsWith("1.0-"))).toEqual([]);
    });
  });
});
