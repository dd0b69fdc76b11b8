import { describe, expect, it } from "vitest";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { indexTypes } from "../../../src/oci/media-types.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import type { Manifest } from "../../../src/oci/descriptor.ts";
import { entryAnnotations } from "../../../src/lock/entry-annotations.ts";
import { annotations, indexFormat } from "../../../src/lock/fleet-index.ts";
import { registryLimits } from "../../../src/io/limits.ts";
import { isBound, parseFleetIndex, readFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import { asking } from "../../../src/oci/registry/ask.ts";
import { tagOperations } from "../../../src/oci/registry/tags.ts";
import type { Send } from "../../../src/oci/registry/transport.ts";

const reference = parseImageReference("registry.example.com/team/app:1.0");

function manifestOf(manifests: readonly object[], more = ""): Manifest {
  const notes = {
    [annotations.format]: indexFormat,
    [annotations.title]: "app",
    [annotations.version]: "1.0",
  };
  const bytes = Buffer.from(
    JSON.stringify({ mediaType: indexTypes.oci, manifests, annotations: notes, more }),
  );
  return { bytes, digest: digestOf(bytes), mediaType: indexTypes.oci, size: bytes.byteLength };
}

const partOf = ({ digest, size }: Manifest) => ({
  mediaType: indexTypes.oci,
  digest,
  size,
  annotations: { [annotations.part]: "1" },
});

const registryOf = (top: Manifest, parts: readonly Manifest[]) => {
  const asked: string[] = [];
  const readManifest = async ({ digest }: { readonly digest: string | null }) => {
    asked.push(digest ?? "top");
    return digest === null ? top : (parts.find((part) => part.digest === digest) ?? null);
  };
  return { asked, readManifest };
};

describe("an index is refused before its parts are read", () => {
  const part = manifestOf([]);

  it.each([
    ["one part 400 times", Array(400).fill(partOf(part)), "INDEX_INVALID", "it names one part twice"],
    [
      "more parts than the limit",
      Array.from({ length: registryLimits.indexParts + 1 }, (_, index) => partOf(manifestOf([], `${index}`))),
      "REGISTRY_ANSWER_TOO_LARGE",
      "it has 65 parts, the limit is 64",
    ],
  ])("%s", async (_, manifests, code, message) => {
    const registry = registryOf(manifestOf(manifests), [part]);
    const read = readFleetIndex(registry, reference);
    await expect(read).rejects.toMatchObject({ code });
    await expect(read).rejects.toThrow(message);
    expect(registry.asked).toEqual(["top"]);
  });

  it("a part that is not as long as the top says", async () => {
    const top = manifestOf([{ ...partOf(part), size: 1 }]);
    await expect(readFleetIndex(registryOf(top, [part]), reference)).rejects.toThrow("it says 1");
  });
});

describe("a top vouches for its parts alone", () => {
  const [one, two] = [manifestOf([], "1"), manifestOf([], "2")];
  const top = manifestOf([partOf(one)]);

  it.each([
    ["the part that it names", [one], true],
    ["another", [two], false],
    ["one more", [one, two], false],
    ["none", [], false],
  ])("%s", (_, parts, bound) => {
    expect(isBound({ top, parts }, reference)).toBe(bound);
    if (!bound)
      expect(() => parseFleetIndex({ top, parts }, reference)).toThrow(
        "its parts differ from the named parts",
      );
  });

  it("and a part has none of its own", () => {
    const tree = manifestOf([partOf(top)]);
    expect(() => parseFleetIndex({ top: tree, parts: [top] }, reference)).toThrow("has parts itself");
  });
});

describe("an index of more entries than the limit", () => {
  const entries = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: `sha256:${index.toString(16).padStart(64, "0")}`,
      size: 1,
      annotations: {
        [entryAnnotations.cell]: `${index}`,
        [entryAnnotations.axes]: "{}",
        [entryAnnotations.requires]: "{}",
      },
    }));
  const parts = [registryLimits.indexEntries / 2, registryLimits.indexEntries / 2].map((count, index) =>
    manifestOf(entries(count), `${index}`),
  );

  it("is refused with the numbers, however it is split into parts", () => {
    const all = [...parts, manifestOf(entries(1), "one more")];
    const read = () => parseFleetIndex({ top: manifestOf(all.map(partOf)), parts: all }, reference);
    expect(read).toThrow(expect.objectContaining({ code: "REGISTRY_ANSWER_TOO_LARGE" }));
    expect(read).toThrow("it has 100001 images, the limit is 100000");
  });

  it("is not one that has as many as the limit", () => {
    const read = () => parseFleetIndex({ top: manifestOf(parts.map(partOf)), parts }, reference);
    // The cells are in both parts.
    expect(read).toThrow("two entries for one cell");
  });
});

describe("tags", () => {
  const tagsOf = async (answer: (page: number, url: URL) => { tags: string[]; link?: string }) => {
    const asked: URL[] = [];
    const send: Send = async ({ url }) => {
      asked.push(url);
      const { tags, link } = answer(asked.length, url);
      const headers = link === undefined ? {} : { link: `<${link}>; rel="next"` };
      const body = Buffer.from(JSON.stringify({ tags }));
      return { status: 200, statusText: "OK", headers, body, url, attempts: 1 };
    };
    const { listTags } = tagOperations({ ask: asking(send), plainHttp: () => false, pageSize: 1000 });
    let count = 0;
    const read = async () => {
      for await (const _ of listTags(reference)) count++;
    };
    return {
      error: await read().then(
        () => null,
        (error: unknown) => error,
      ),
      asked,
      count,
    };
  };
  const tags = (page: number, size: number) => Array.from({ length: size }, (_, index) => `${page}-${index}`);

  it("end after so many pages", async () => {
    const { error, asked } = await tagsOf((page) => ({ tags: tags(page, 1), link: `?last=${page}` }));
    expect(error).toMatchObject({ code: "REGISTRY_ANSWER_TOO_LARGE" });
    expect(asked).toHaveLength(registryLimits.tagPages + 1);
  });

  it("end after so many tags", async () => {
    const { error, asked } = await tagsOf((page) => ({ tags: tags(page, 200_000), link: `?last=${page}` }));
    expect(error).toMatchObject({ code: "REGISTRY_ANSWER_TOO_LARGE" });
    expect(asked).toHaveLength(6);
  });

  it("end where a page links to itself", async () => {
    const { error, asked } = await tagsOf((_, url) => ({ tags: ["a"], link: url.href }));
    expect(error).toMatchObject({ code: "REGISTRY_FAILED" });
    expect(asked).toHaveLength(2);
  });

  it("stay with the host that was asked", async () => {
    const { asked } = await tagsOf((page) =>
      page === 1 ? { tags: ["a"], link: "https://elsewhere.example/v2/x" } : { tags: ["b"] },
    );
    expect(asked.map(({ host }) => host)).toEqual(["registry.example.com", "registry.example.com"]);
  });
});
