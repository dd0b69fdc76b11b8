import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IndexedImage } from "../../src/lock/fleet-index.ts";
import { formatFleetIndex } from "../../src/lock/store/format-fleet-index.ts";
import { parseFleetIndex } from "../../src/lock/store/read-fleet-index.ts";
import type { Manifest } from "../../src/oci/descriptor.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { manifestTypes } from "../../src/oci/media-types.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { shownImages } from "../../src/resolve/shown-images.ts";
import { indexOf, readBack } from "../oci/registry/support/index-of-lock.ts";
import { anyHost, anyLock } from "../properties/support/machines.ts";
import { assertSeen, checkOptions, timeoutMs } from "../properties/support/runs.ts";
import { cuda, gpuImage, image, lockOf, requirement } from "../resolve/support/locks.ts";

const reference = parseImageReference("registry.example.com/team/cv-tf:1.12.0");

const cellsOf = ({ bytes }: Manifest) =>
  JSON.parse(Buffer.from(bytes).toString()).manifests.map(
    ({ annotations }: { annotations: Record<string, string> }) => annotations["dev.imgmatch.cell"],
  );

const platformsOf = ({ bytes }: Manifest) =>
  JSON.parse(Buffer.from(bytes).toString()).manifests.map(({ platform }: { platform: object }) => platform);

describe("resolving from the index", () => {
  it("answers what the lock answers, divided into parts or not", { timeout: timeoutMs }, () => {
    let matched = 0;
    assertSeen(
      fc.property(anyHost, anyLock, fc.integer({ min: 500, max: 20_000 }), (host, lock, maxBytes) => {
        const here = { ...lock, repository: "registry.example.com/team/cv-tf" };
        const byLock = resolveImage(here, host);
        const byIndex = resolveImage(readBack(indexOf(here), reference, maxBytes), host);
        expect(byIndex.match).toEqual(byLock.match);
        const isBuilt = (cell: string) => here.images[cell]?.digest !== null;
        const verdicts = byLock.rejected
          .filter(({ cell }) => isBuilt(cell))
          .map(({ fix: _, ...rest }) => rest);
        expect(byIndex.rejected.map(({ fix: _, ...rest }) => rest)).toEqual(verdicts);
        // A fix may be to build a cell of the lock; an index knows only those that are built.
        const images = Object.fromEntries(Object.entries(here.images).filter(([cell]) => isBuilt(cell)));
        expect(byIndex.rejected).toEqual(resolveImage({ ...here, images }, host).rejected);
        if (byIndex.match !== null) matched++;
      }),
      checkOptions,
      () => matched > checkOptions.numRuns / 20,
    );
  });
});

describe("the bytes of an index", () => {
  const images = {
    "gpu-small": gpuImage(cuda("12.4.1", ["sm_80"]), {
      requires: requirement(cuda("12.4.1", ["sm_80"]), []),
    }),
    "cpu-v3": image(),
    "cpu-v1": image({ requires: requirement(null, ["sse2"]) }),
    "arm-v1": image({ platform: "linux/arm64", requires: requirement(null, ["fp"]) }),
    "arm-v2": image({ platform: "linux/arm64", requires: requirement(null, ["fp", "sve"]) }),
    unpushed: image({ digest: null }),
  };
  const index = indexOf(lockOf(images));

  it("has first what runtimes are to see, and shows them nothing else", () => {
    const { top, parts } = formatFleetIndex(index, shownImages(index));
    expect(cellsOf(top)).toEqual(["cpu-v1", "cpu-v3", "arm-v1", "arm-v2", "gpu-small"]);
    expect(platformsOf(top)).toEqual([
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "amd64", variant: "v3" },
      { os: "linux", architecture: "arm64" },
      { os: "unknown", architecture: "unknown" },
      { os: "unknown", architecture: "unknown" },
    ]);
    expect(parts).toEqual([]);
  });

  it("says nothing of the index around an attested image but its digest, which is the lock's", () => {
    const inside = { mediaType: manifestTypes.oci, digest: digestOf("inside"), size: 1234 };
    const [[cell, entry] = []] = index.entries;
    if (cell === undefined || entry === undefined) throw new Error("an index has entries");
    const attested = { ...index, entries: new Map([[cell, { ...entry, descriptor: inside }]]) };
    const found = readBack(attested, reference).images[cell];
    expect(found?.digest).toBe(entry.image.digest);
    expect(found?.manifest).toBeUndefined();
    expect(readBack(index, reference).images[cell]?.manifest).toMatchObject({ size: 1234 });
  });

  it("keeps that a plain pull may get what not every machine starts", () => {
    expect(readBack({ ...index, plainPull: "least" }, reference).plainPull).toBe("least");
    expect(readBack(index, reference)).not.toHaveProperty("plainPull");
  });

  it("does not depend on the order of the images and their keys", () => {
    const { top } = formatFleetIndex(index, shownImages(index));
    const turned = new Map(
      [...index.entries].reverse().map(([cell, { image: one, descriptor }]) => {
        const reversed = Object.fromEntries(Object.entries(one).reverse()) as unknown as IndexedImage;
        return [cell, { descriptor, image: reversed }] as const;
      }),
    );
    expect(formatFleetIndex({ ...index, entries: turned }, shownImages(index)).top.digest).toBe(top.digest);
  });

  it("is what other tools read: an OCI index with platforms", () => {
    const { top } = formatFleetIndex(index, shownImages(index));
    const json = JSON.parse(Buffer.from(top.bytes).toString());
    expect(json).toMatchObject({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      annotations: { "org.opencontainers.image.version": "1.12.0", "dev.imgmatch.index": "2" },
    });
    expect(json.manifests[2]).toMatchObject({
      platform: { os: "linux", architecture: "arm64" },
      size: 1234,
      annotations: { "dev.imgmatch.platform": "linux/arm64" },
    });
    expect(json.manifests[4]).toMatchObject({ annotations: { "dev.imgmatch.platform": "linux/amd64" } });
  });

  it("keeps the baselines in the first manifest when the fleet is divided, and parts out of the engines' sight", () => {
    const { top, parts } = formatFleetIndex(index, shownImages(index), { maxBytes: 900 });
    expect(parts.length).toBeGreaterThan(1);
    expect(cellsOf(top).slice(0, 1)).toEqual(["cpu-v1"]);
    const refs = JSON.parse(Buffer.from(top.bytes).toString()).manifests.slice(-parts.length);
    expect(refs.map(({ digest }: { digest: string }) => digest)).toEqual(parts.map(({ digest }) => digest));
    expect(new Set(refs.map(({ platform }: { platform: { os: string } }) => platform.os))).toEqual(
      new Set(["unknown"]),
    );
    expect(Object.keys(readBack(index, reference, 900).images).sort()).toEqual(
      [...index.entries.keys()].sort(),
    );
  });

  it("holds 10,000 images in manifests that registries take", () => {
    const many = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, number) => [`cell-${number}`, gpuImage(cuda("12.4.1", ["sm_80"]))]),
    );
    const { top, parts } = formatFleetIndex(indexOf(lockOf(many)), shownImages(indexOf(lockOf(many))));
    for (const { size } of [top, ...parts]) expect(size).toBeLessThan(4 * 1024 * 1024);
    expect(parts.length).toBeGreaterThan(0);
  });
});

describe("what is not the index of a fleet", () => {
  const withText = (text: string): Manifest => {
    const bytes = Buffer.from(text);
    const mediaType = "application/vnd.oci.image.index.v1+json";
    return { bytes, mediaType, digest: digestOf(bytes), size: bytes.byteLength };
  };
  const valid = () => {
    const { top } = formatFleetIndex(
      indexOf(lockOf({ "cpu-v3": image() })),
      shownImages(indexOf(lockOf({ "cpu-v3": image() }))),
    );
    return JSON.parse(Buffer.from(top.bytes).toString());
  };
  const parse = (json: unknown) =>
    parseFleetIndex({ top: withText(JSON.stringify(json)), parts: [] }, reference);

  it("is accepted when nothing is wrong", () => {
    expect([...parse(valid()).entries.keys()]).toEqual(["cpu-v3"]);
  });

  it.each<[string, (json: ReturnType<typeof valid>) => void]>([
    ["an index of somebody else", (json) => delete json.annotations],
    ["an image's digest that is none", (json) => (json.manifests[0].digest = "sha256:1")],
    ["a media type that is two lines", (json) => (json.manifests[0].mediaType = "a/b\r\nx: y")],
    ["a size that is none", (json) => (json.manifests[0].size = -1)],
    [
      "a requirement that is not JSON",
      (json) => (json.manifests[0].annotations["dev.imgmatch.requires"] = "{"),
    ],
    [
      "a requirement of another shape",
      (json) => (json.manifests[0].annotations["dev.imgmatch.requires"] = "{}"),
    ],
    [
      "a tag that could leave the line",
      (json) => (json.manifests[0].annotations["dev.imgmatch.tag"] = "a b"),
    ],
    ["no inputs", (json) => delete json.manifests[0].annotations["dev.imgmatch.inputs"]],
    ["two entries for one cell", (json) => json.manifests.push(json.manifests[0])],
    ["no platform", (json) => delete json.manifests[0].annotations["dev.imgmatch.platform"]],
    [
      "a platform that could leave the line",
      (json) => (json.manifests[0].annotations["dev.imgmatch.platform"] = "linux/a b"),
    ],
  ])("%s", (_, change) => {
    const json = valid();
    change(json);
    expect(() => parse(json)).toThrow(expect.objectContaining({ code: "INDEX_INVALID" }));
  });

  it.each<[string, (text: string) => string, RegExp]>([
    [
      "an annotation",
      (text) => text.replace('"dev.imgmatch.cell":', '"dev.imgmatch.cell":"other",$&'),
      /the key manifests\.annotations\["dev\.imgmatch\.cell"\] stands twice, at 1:\d+ and 1:\d+$/m,
    ],
    [
      "a key of a requirement",
      (text) => text.replace('{\\"cpu\\":', '{\\"cpu\\":null,\\"cpu\\":'),
      /dev\.imgmatch\.requires of cpu-v3: the key cpu stands twice, at 1:2 and 1:13$/m,
    ],
  ])("refuses %s that stands twice, with both places", (_, change, expected) => {
    const text = change(JSON.stringify(valid()));
    const read = () => parseFleetIndex({ top: withText(text), parts: [] }, reference);
    expect(read).toThrow(expect.objectContaining({ code: "INDEX_INVALID" }));
    expect(read).toThrow(expected);
  });

  it.each(["1", "3"])("refuses format %s", (format) => {
    const json = valid();
    json.annotations["dev.imgmatch.index"] = format;
    expect(() => parse(json)).toThrow(expect.objectContaining({ code: "INDEX_FORMAT" }));
    expect(() => parse(json)).toThrow(`has the format "${format}", this imgmatch reads "2"`);
  });

  it("is not confused by entries that others added", () => {
    const json = valid();
    json.manifests.push({
      ...json.manifests[0],
      annotations: { "vnd.docker.reference.type": "attestation" },
    });
    expect([...parse(json).entries.keys()]).toEqual(["cpu-v3"]);
  });
});
