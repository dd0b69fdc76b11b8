import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { ImgmatchError } from "../../../src/errors.ts";
import type { ProblemCode } from "../../../src/problem-codes.ts";
import type { RegistryClient } from "../../../src/oci/registry/client.ts";
import { type FetchOptions, fetchLock, formatAge } from "../../../src/lock/store/fetch-lock.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";
import { image } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");

describe("fetchLock", () => {
  let registry: MemoryRegistry;
  let asked: string[];
  let told: string[];
  let cache: string;

  beforeEach(async () => {
    registry = createMemoryRegistry();
    asked = [];
    told = [];
    cache = makeFolder({});
    await publish("a");
  });

  async function publish(...cells: string[]): Promise<void> {
    const { axes, platform, inputDigest, requires } = image();
    const images = cells.map((cell) => {
      const digest = registry.pushImage(`1.0-${cell}`, {}, cell);
      return [cell, { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest }] as const;
    });
    await publishIndex({ registry, reference, name: "app", version: "1.0", images: new Map(images) });
  }

  const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
    connect: async () => ({
      ...registry,
      findManifest: (to) => {
        asked.push("head");
        return registry.findManifest(to);
      },
      readManifest: (to) => {
        asked.push("get");
        return registry.readManifest(to);
      },
    }),
    cache,
    now: () => new Date(),
    tell: (message) => told.push(message),
    ...more,
  });
  const failing = (code: ProblemCode): Partial<FetchOptions> => ({
    connect: async () => {
      const fail = () => Promise.reject(new ImgmatchError({ code, message: `it says ${code}` }));
      return { ...registry, findManifest: fail, readManifest: fail } satisfies RegistryClient;
    },
  });
  const cells = async (more?: Partial<FetchOptions>) =>
    Object.keys((await fetchLock(reference, options(more))).images);
  const cacheFile = () => join(cache, readdirSync(cache)[0] ?? "");

  it("asks once, and keeps nothing unless told to", async () => {
    expect(await cells({ cache: null })).toEqual(["a"]);
    expect(asked).toEqual(["get"]);
    expect(readdirSync(cache)).toEqual([]);
  });

  it("says what of the index it does not know, with what is near", async () => {
    const altered: Partial<FetchOptions> = {
      cache: null,
      connect: async () => ({
        ...registry,
        readManifest: async (to) => {
          const manifest = await registry.readManifest(to);
          if (manifest === null) return null;
          const said = Buffer.from(manifest.bytes).toString("utf8");
          const bytes = Buffer.from(
            said.replace(
              '"annotations":{',
              '"annotations":{"dev.imgmatch.mesured":"x","dev.imgmatch.later-idea":"y",',
            ),
          );
          return { ...manifest, bytes };
        },
      }),
    };
    expect(await cells(altered)).toEqual(["a"]);
    expect(told).toEqual([
      expect.stringMatching(
        /^the index has "dev\.imgmatch\.later-idea", which this imgmatch does not know: /,
      ),
      'the index has "dev.imgmatch.mesured", which this imgmatch does not know: did you mean dev.imgmatch.measured? a newer one may have written it',
    ]);
    told.length = 0;
    await cells();
    expect(told).toEqual([]);
  });

  it("names the images where it was asked for them", async () => {
    const mirror = parseImageReference("mirror.example.com:5000/x/app:1.0");
    const { repository, version, name } = await fetchLock(mirror, options());
    expect([repository, version, name]).toEqual(["mirror.example.com:5000/x/app", "1.0", "app"]);
  });

  it("asks only whether the cached answer is still true, and takes the new one when it is not", async () => {
    await cells();
    asked.length = 0;
    expect(await cells()).toEqual(["a"]);
    expect(asked).toEqual(["head"]);
    await publish("b");
    asked.length = 0;
    expect(await cells()).toEqual(["a", "b"]);
    expect(asked).toEqual(["head", "get"]);
    expect(await cells(failing("REGISTRY_UNREACHABLE"))).toEqual(["a", "b"]);
  });

  it("answers from the cache when the registry does not, and says how old that is", async () => {
    await cells();
    const hoursAgo = new Date(Date.now() - 5 * 3600_000);
    utimesSync(cacheFile(), hoursAgo, hoursAgo);
    for (const code of ["REGISTRY_UNREACHABLE", "REGISTRY_FAILED", "REGISTRY_DIGEST_MISMATCH"] as const) {
      told.length = 0;
      expect(await cells(failing(code))).toEqual(["a"]);
      expect(told.join("\n")).toMatch(
        new RegExp(`it says ${code}\nanswered from the cache: sha256:\\w+, confirmed .* 5 h ago`),
      );
    }
    await cells();
    told.length = 0;
    await cells(failing("REGISTRY_UNREACHABLE"));
    expect(told.join("\n")).toMatch(/confirmed by the registry \d s ago/);
  });

  it("gives no old answer to who is refused, or for what is gone", async () => {
    await cells();
    await expect(cells(failing("REGISTRY_AUTH"))).rejects.toMatchObject({ code: "REGISTRY_AUTH" });
    registry.tags.delete("1.0");
    await expect(cells()).rejects.toMatchObject({ code: "INDEX_NOT_FOUND" });
  });

  it("asks nobody for a digest that it has", async () => {
    const digest = registry.tags.get("1.0") ?? "";
    const pinned = withDigest(reference, digest);
    await fetchLock(pinned, options());
    asked.length = 0;
    expect(Object.keys((await fetchLock(pinned, options())).images)).toEqual(["a"]);
    expect(asked).toEqual([]);
  });

  it("trusts no cache that was changed or damaged", async () => {
    await cells();
    const whole = readFileSync(cacheFile(), "utf8");
    for (const text of [
      "",
      "{",
      whole.slice(0, -20),
      whole.replace("1.0-a", "1.0-b"),
      whole.replace("team/app", "team/x"),
    ]) {
      writeFileSync(cacheFile(), text);
      await expect(cells(failing("REGISTRY_UNREACHABLE"))).rejects.toMatchObject({
        code: "REGISTRY_UNREACHABLE",
      });
      expect(await cells()).toEqual(["a"]);
    }
  });

  it("trusts no part that the top does not name, also for a digest that it has", async () => {
    await cells();
    const pinned = withDigest(reference, registry.tags.get("1.0") ?? "");
    await fetchLock(pinned, options());
    // A part that is whole by its own digest: the image of somebody who can write the cache.
    const evil = {
      mediaType: "application/vnd.oci.image.index.v1+json",
      content: "{}",
      digest: digestOf(Buffer.from("{}")),
    };
    for (const name of readdirSync(cache)) {
      const stored = JSON.parse(readFileSync(join(cache, name), "utf8"));
      writeFileSync(join(cache, name), JSON.stringify({ ...stored, manifests: [...stored.manifests, evil] }));
    }
    await expect(fetchLock(pinned, options(failing("REGISTRY_UNREACHABLE")))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
    });
    await expect(cells(failing("REGISTRY_UNREACHABLE"))).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
    });
    expect(await cells()).toEqual(["a"]);
  });

  it("refuses a cache that others may write, with the chmod", async () => {
    await cells();
    const refused = async (path: string, mode: number) => {
      const before = statSync(path).mode;
      chmodSync(path, mode);
      const asking = cells(failing("REGISTRY_UNREACHABLE"));
      await expect(asking).rejects.toMatchObject({
        code: "CACHE_UNSAFE",
        problems: [{ at: { file: path }, fix: expect.stringContaining(`chmod go-w ${path}`) }],
      });
      chmodSync(path, before);
    };
    await refused(cache, 0o777);
    await refused(cache, 0o1777);
    await refused(cache, 0o775);
    await refused(cacheFile(), 0o666);
    await refused(cacheFile(), 0o660);
    expect(await cells(failing("REGISTRY_UNREACHABLE"))).toEqual(["a"]);
    // Above, a sticky folder protects what is in it, and another does not.
    const inner = join(cache, "inner");
    expect(await cells({ cache: inner })).toEqual(["a"]);
    chmodSync(cache, 0o777);
    await expect(cells({ cache: inner })).rejects.toMatchObject({ code: "CACHE_UNSAFE" });
    chmodSync(cache, 0o1777);
    expect(await cells({ cache: inner })).toEqual(["a"]);
    chmodSync(cache, 0o755);
  });

  it(
    "refuses a cache of another user",
    needs(process.getuid?.() === 0 ? null : "not root, who alone can give files away"),
    async () => {
      await cells();
      chownSync(cacheFile(), 12_345, 12_345);
      await expect(cells()).rejects.toThrow("belongs to user 12345");
      chownSync(cacheFile(), 0, 0);
      chownSync(cache, 12_345, 12_345);
      await expect(cells()).rejects.toMatchObject({ code: "CACHE_UNSAFE" });
    },
  );

  it("writes what it will read again, whatever the umask", async () => {
    const before = process.umask(0);
    const folder = join(cache, "a", "b");
    expect(await cells({ cache: folder })).toEqual(["a"]);
    process.umask(before);
    expect(await cells({ cache: folder, ...failing("REGISTRY_UNREACHABLE") })).toEqual(["a"]);
  });

  it("answers also where the cache cannot be written, and says so", async () => {
    const file = join(makeFolder({ file: "" }), "file");
    expect(await cells({ cache: join(file, "cache") })).toEqual(["a"]);
    expect(told.join()).toContain("the cache cannot be written");
  });

  it("does not keep what is no index of a fleet", async () => {
    registry.pushImage("1.0", {}, "an image");
    await expect(cells()).rejects.toMatchObject({ code: "INDEX_INVALID" });
    expect(readdirSync(cache)).toEqual([]);
  });

  it("wants a version", async () => {
    const bare = parseImageReference("registry.example.com/team/app");
    await expect(fetchLock(bare, options())).rejects.toMatchObject({ code: "REFERENCE_INVALID" });
  });
});

it.each([
  [-5000, "0 s"],
  [119_000, "119 s"],
  [3_600_000, "60 min"],
  [8 * 3_600_000, "8 h"],
  [9 * 86_400_000, "9 d"],
])("an age of %d ms is %s", (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
