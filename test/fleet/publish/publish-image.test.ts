import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Engine } from "../../../src/fleet/engines/engine.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { indexTypes, manifestTypes } from "../../../src/oci/media-types.ts";
import { type ImageReference, parseImageReference } from "../../../src/oci/reference.ts";
import { RegistryError } from "../../../src/oci/registry/registry-error.ts";
import { transientTag } from "../../../src/oci/registry/transient-tag.ts";
import { type PublishRequest, publishImage } from "../../../src/fleet/publish/publish-image.ts";
import { createMemoryRegistry, type MemoryRegistry } from "./support/memory-registry.ts";

const inputDigest: Digest = `sha256:${"1234567890abcdef".repeat(4)}`;
const labels = { "dev.imgmatch.inputs": inputDigest };
const reference = parseImageReference("registry.example.com/team/app:1.0");

/** An engine whose push puts an image with these labels and content into the registry. */
function engineFor(
  registry: MemoryRegistry,
  content: string,
  inputs: Readonly<Record<string, string>> = labels,
): Pick<Engine, "push"> {
  return { push: async (_, to) => registry.pushImage(to.tag ?? "", inputs, content) };
}

function request(
  registry: MemoryRegistry,
  content: string,
  more: Partial<PublishRequest> = {},
): PublishRequest {
  const watch = { signal: new AbortController().signal, onLog: () => {} };
  const image = { id: content, size: null };
  const engine = engineFor(registry, content);
  return {
    engine,
    registry,
    image,
    reference,
    platform: "linux/amd64",
    inputDigest,
    watch,
    settleMs: 2000,
    ...more,
  };
}

describe("publishImage", () => {
  it("pushes under a transient tag, tags, and takes the transient tag away", async () => {
    const registry = createMemoryRegistry();
    const pushedTo: (string | null)[] = [];
    const engine: Pick<Engine, "push"> = {
      push: async (_, to) => {
        pushedTo.push(to.tag);
        return registry.pushImage(to.tag ?? "", labels, "a");
      },
    };
    const { digest, how } = await publishImage(request(registry, "a", { engine }));
    expect(how).toBe("pushed");
    expect(pushedTo).toEqual([expect.stringMatching(/^imgmatch-[0-9a-f]{16}-[0-9a-f]{8}$/)]);
    expect([...registry.tags]).toEqual([["1.0", digest]]);
  });

  it("tells what was pushed before the tag is written, and leaves nothing where that fails", async () => {
    const registry = createMemoryRegistry();
    const lie = new Error("code beyond the march");
    const seen: [Digest, readonly string[]][] = [];
    const look = async (digest: Digest) => {
      seen.push([digest, [...registry.tags.keys()]]);
    };
    const lying = async (digest: Digest) => {
      await look(digest);
      throw lie;
    };
    await expect(publishImage(request(registry, "a", { beforeTag: lying }))).rejects.toBe(lie);
    expect(registry.tags.size).toBe(0);
    const { digest } = await publishImage(request(registry, "a", { beforeTag: look }));
    expect([...registry.tags]).toEqual([["1.0", digest]]);
    expect(seen).toEqual([
      [digest, [expect.stringMatching(/^imgmatch-/)]],
      [digest, [expect.stringMatching(/^imgmatch-/)]],
    ]);
  });

  const over = new RegistryError(
    { code: "REGISTRY_FAILED", message: "PUT: 503" },
    { status: 503, temporary: true },
  );
  const soon = { sleep: async () => {} };

  it("leaves nothing where the registry has the push and answers each try with 503", async () => {
    const registry = createMemoryRegistry();
    const push = async (_: unknown, to: ImageReference) => {
      registry.pushImage(to.tag ?? "", labels, "a");
      throw over;
    };
    await expect(publishImage(request(registry, "a", { engine: { push }, ...soon }))).rejects.toBe(over);
    expect([...registry.tags]).toEqual([]);
  });

  it("writes no transient tag where the registry has no push and removes no tags", async () => {
    const registry = createMemoryRegistry({ removesTags: false });
    const engine = { push: () => Promise.reject(over) };
    await expect(publishImage(request(registry, "a", { engine, ...soon }))).rejects.toBe(over);
    expect([...registry.tags]).toEqual([]);
  });

  it("adopts what others have tagged while it was being examined", async () => {
    const registry = createMemoryRegistry();
    let theirs: Digest | null = null;
    const beforeTag = async () => {
      theirs = (await publishImage(request(registry, "quick"))).digest;
    };
    const { how, digest } = await publishImage(request(registry, "slow", { beforeTag }));
    expect([how, digest]).toEqual(["adopted", theirs]);
    expect([...registry.tags]).toEqual([["1.0", theirs]]);
  });

  it.each([
    ["the same image", "a", false],
    ["another image", "b", true],
  ])(
    "adopts %s with attestations, and says whether it is what was built here",
    async (_, theirs, differs) => {
      const registry = createMemoryRegistry();
      const outer = registry.pushAttested("1.0", labels, theirs);
      const config = digestOf(
        JSON.stringify({ os: "linux", architecture: "amd64", config: { Labels: labels }, content: "a" }),
      );
      const image = { id: config, size: null };
      const published = await publishImage(request(registry, "a", { image }));
      expect(published).toMatchObject({ how: "adopted", digest: outer, differs });
    },
  );

  it("adopts an image of the same inputs without pushing", async () => {
    const registry = createMemoryRegistry();
    const theirs = registry.pushImage("1.0", labels, "theirs");
    const engine = { push: () => expect.unreachable() };
    expect(await publishImage(request(registry, "ours", { engine }))).toEqual({
      digest: theirs,
      manifest: { mediaType: manifestTypes.oci, size: 125 },
      blobs: null,
      how: "adopted",
      differs: true,
    });
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["other inputs", { "dev.imgmatch.inputs": `sha256:${"9".repeat(64)}` }],
    ["no inputs", { maintainer: "somebody" }],
  ])("never replaces an image with %s", async (_, theirLabels) => {
    const registry = createMemoryRegistry();
    const theirs = registry.pushImage("1.0", theirLabels, "theirs");
    const publishing = publishImage(request(registry, "ours"));
    await expect(publishing).rejects.toMatchObject({ code: "TAG_CONFLICT" });
    await expect(publishing).rejects.toThrow(theirs);
    await expect(publishing).rejects.toThrow(inputDigest);
    expect([...registry.tags]).toEqual([["1.0", theirs]]);
  });

  it.each<[string, string, string, RegExp]>([
    [
      "a chart",
      JSON.stringify({ schemaVersion: 2, config: { digest: `sha256:${"c".repeat(64)}` }, layers: [] }),
      manifestTypes.oci,
      /no image for linux\/amd64: its configuration sha256:c+ is not that of an image/,
    ],
    [
      "an index of another platform",
      JSON.stringify({
        manifests: [
          {
            digest: `sha256:${"d".repeat(64)}`,
            platform: { os: "linux", architecture: "arm64" },
          },
        ],
      }),
      indexTypes.oci,
      /no image for linux\/amd64: its index has no image for linux\/amd64, only for linux\/arm64/,
    ],
    ["an index of nothing", '{"manifests":[]}', indexTypes.oci, /no image for linux\/amd64/],
  ])("never replaces %s", async (_, text, mediaType, words) => {
    const registry = createMemoryRegistry();
    const bytes = Buffer.from(text);
    const theirs = digestOf(bytes);
    await registry.writeManifest(reference, { bytes, mediaType, digest: theirs, size: bytes.length });
    const other: MemoryRegistry = { ...registry, readBlob: async () => Buffer.from("{}") };
    const publishing = publishImage(request(other, "ours"));
    await expect(publishing).rejects.toMatchObject({ code: "TAG_CONFLICT", exitCode: 6 });
    await expect(publishing).rejects.toThrow(words);
    expect([...registry.tags]).toEqual([["1.0", theirs]]);
  });

  it("names both digests when the other one came during the push", async () => {
    const registry = createMemoryRegistry();
    let [ours, theirs] = ["", ""];
    const engine: Pick<Engine, "push"> = {
      push: async (_, to) => {
        theirs = registry.pushImage("1.0", { maintainer: "somebody" }, "theirs");
        const digest = registry.pushImage(to.tag ?? "", labels, "ours");
        ours = digest;
        return digest;
      },
    };
    const publishing = publishImage(request(registry, "ours", { engine }));
    await expect(publishing).rejects.toThrow(expect.objectContaining({ code: "TAG_CONFLICT" }));
    await expect(publishing).rejects.toThrow(new RegExp(`${theirs}.*${ours}`));
    expect([...registry.tags]).toEqual([["1.0", theirs]]);
  });

  it("adopts the winner where tags are immutable", async () => {
    const registry = createMemoryRegistry();
    let theirs: Digest | undefined;
    const refusing: MemoryRegistry = {
      ...registry,
      writeManifest: async () => {
        theirs = registry.pushImage("1.0", labels, "theirs");
        throw new Error("tag is immutable");
      },
    };
    expect(await publishImage(request(refusing, "ours"))).toEqual({
      digest: theirs,
      manifest: { mediaType: manifestTypes.oci, size: 125 },
      blobs: null,
      how: "adopted",
      differs: true,
    });
  });

  it("passes a refusal on when nobody has the tag", async () => {
    const registry = createMemoryRegistry();
    const refusing: MemoryRegistry = {
      ...registry,
      writeManifest: () => Promise.reject(new Error("quota exceeded")),
    };
    await expect(publishImage(request(refusing, "ours"))).rejects.toThrow("quota exceeded");
    expect(registry.tags.size).toBe(0);
  });

  it("restores the tag when removing the transient one drops the manifest with all its tags", async () => {
    const registry = createMemoryRegistry();
    const dropping: MemoryRegistry = {
      ...registry,
      removeTag: async ({ tag }) => {
        const digest = registry.tags.get(tag ?? "");
        for (const [other, same] of registry.tags) if (same === digest) registry.tags.delete(other);
        return true;
      },
    };
    const { digest } = await publishImage(request(dropping, "ours"));
    expect([...registry.tags]).toEqual([["1.0", digest]]);
  });

  it("waits for a killed publisher's announcement no longer than it may", async () => {
    const registry = createMemoryRegistry();
    registry.pushImage(transientTag(reference.tag ?? ""), labels, "never finished");
    const started = performance.now();
    const { how } = await publishImage(request(registry, "ours", { settleMs: 300 }));
    expect(how).toBe("pushed");
    expect(performance.now() - started).toBeGreaterThan(290);
  });

  it.each([true, false])(
    "waits for a publisher that is about to write (registry removes tags: %s)",
    async (removesTags) => {
      const registry = createMemoryRegistry({ removesTags });
      let isAboutToWrite = () => {};
      const aboutToWrite = new Promise<void>((resolve) => {
        isAboutToWrite = resolve;
      });
      const slow: MemoryRegistry = {
        ...registry,
        writeManifest: async (to, manifest) => {
          isAboutToWrite();
          await sleep(400);
          return registry.writeManifest(to, manifest);
        },
      };
      const first = publishImage(request(slow, "slow"));
      await aboutToWrite;
      const [one, other] = await Promise.all([first, publishImage(request(registry, "quick"))]);
      expect([one.digest, other.digest]).toEqual([registry.tags.get("1.0"), registry.tags.get("1.0")]);
      expect([one.how, other.how].sort()).toEqual(["adopted", "pushed"]);
    },
  );

  it.each([true, false])(
    "gives all publishers of one tag one digest (registry removes tags: %s)",
    async (removesTags) => {
      await fc.assert(
        fc.asyncProperty(
          fc.infiniteStream(fc.integer({ min: 0, max: 8 })),
          fc.integer({ min: 2, max: 8 }),
          async (delays, count) => {
            const delay = async () => sleep(delays.next().value);
            const registry = createMemoryRegistry({ removesTags, delay });
            const published = await Promise.all(
              Array.from({ length: count }, async (_, index) => {
                await sleep(delays.next().value * 4);
                return publishImage(request(registry, `content ${index}`));
              }),
            );
            expect(new Set(published.map(({ digest }) => digest))).toEqual(
              new Set([registry.tags.get("1.0")]),
            );
            // Whoever was overwritten before anybody adopted it has adopted too: at most one publisher says "pushed".
            expect(published.filter(({ how }) => how === "pushed").length).toBe(1);
            if (removesTags) expect(registry.tags.size).toBe(1);
            else {
              // The tag that stays names no image: who deletes its manifest by the digest takes nothing else with it.
              const stays = [...registry.tags].filter(([tag]) => tag !== "1.0");
              expect(new Set(stays.map(([, digest]) => digest)).size).toBe(1);
              expect(stays.map(([, digest]) => digest)).not.toContain(registry.tags.get("1.0"));
            }
          },
        ),
        { numRuns: 12 },
      );
    },
  );
});
