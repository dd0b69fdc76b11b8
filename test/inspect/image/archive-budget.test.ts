/** Opens images that attack their reader: one runs into each bound of layers and of the archives in them. */

import { deflateRawSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { filesOfLayers } from "../../../src/inspect/image/file-tree.ts";
import { archiveBudget } from "../../../src/inspect/image/archive-budget.ts";
import { inspectContent } from "../../../src/inspect/image/inspect-content.ts";
import { inspectLayer } from "../../../src/inspect/image/layer.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { openLayers } from "../../../src/inspect/image/open-layers.ts";
import { collect } from "../../../src/inspect/image/opened-file.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readTar } from "../../../src/inspect/image/read-tar.ts";
import { readZip } from "../../../src/inspect/image/zip.ts";
import { inThisThread } from "../../../src/inspect/workers/file-inspector.ts";
import { gpuFile, makeTar, type MadeFile } from "../support/make-image.ts";

const MiB = 2 ** 20;
/** Unpacks to more than 200 times its size, and to more than is free. */
const zeros = Buffer.alloc(400 * MiB);

async function* inPieces(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += MiB) yield bytes.subarray(at, at + MiB);
}

async function opened(...files: readonly MadeFile[]) {
  const layer = await inspectLayer({ chunks: inPieces(makeTar(files)), digest: null }, "layer 1");
  const { files: found, unopened } = filesOfLayers([layer]);
  return {
    found: found.map(({ path }) => path),
    unopened: unopened.map(({ path, reason }) => `${path}: ${reason}`),
  };
}

const refused = (...files: readonly MadeFile[]) =>
  opened(...files).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message.split("\n")[0] : String(error)),
  );

/** A zip of one deflated file, as often in its directory as wished: all entries are the same bytes (D. Fifield, 2019). */
function zipOf(content: Buffer, size: number, times: number, name = "x"): Buffer {
  const header = (mark: number, length: number) => {
    const bytes = Buffer.alloc(length);
    bytes.writeUInt32LE(mark, 0);
    return bytes;
  };
  const local = header(0x04034b50, 30);
  local.writeUInt16LE(8, 8);
  const entry = header(0x02014b50, 46);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(content.length, 20);
  entry.writeUInt32LE(size, 24);
  entry.writeUInt16LE(Buffer.byteLength(name), 28);
  const directory = Buffer.concat(
    Array.from({ length: times }, () => Buffer.concat([entry, Buffer.from(name)])),
  );
  const end = header(0x06054b50, 22);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length + content.length, 16);
  return Buffer.concat([local, content, directory, end]);
}

/** A file that is no program is left after its first bytes. */
const program = Buffer.concat([gpuFile(90), Buffer.alloc(100 * MiB)]);
const ratio = "unpacks to more than 200 times its size";
const honest: MadeFile = { path: "z/honest.tar", content: makeTar([{ path: "x", content: gpuFile(90) }]) };

describe("an archive that unpacks to far more than it has is told, and hides nothing behind it", () => {
  it.each([
    ["gzip around a tar", gzipSync(makeTar([{ path: "zeros", content: zeros }]))],
    ["gzip in gzip", gzipSync(gzipSync(makeTar([{ path: "zeros", content: zeros }])))],
    ["a zip whose entries are all the same bytes", zipOf(deflateRawSync(program), program.length, 400)],
    [
      "the same behind a script",
      Buffer.concat([Buffer.from("#!/bin/sh\n"), zipOf(deflateRawSync(program), program.length, 400)]),
    ],
  ])("%s", { timeout: 120_000 }, async (_name, content) => {
    const { found, unopened } = await opened({ path: "a/bomb", content }, honest);
    expect(found).toContain("/z/honest.tar!/x");
    expect(unopened.join()).toContain(ratio);
  });

  it("a zstd frame of one letter, over and over", { timeout: 120_000 }, async () => {
    // Raw and RLE blocks behind three bytes of type and length (RFC 8878, 3.1.1.2); a window of 128 KiB.
    const header = makeTar([{ path: "zeros", size: zeros.length }]).subarray(0, 512);
    const raw = Buffer.concat([Buffer.from([0, 16, 0]), header]);
    const repeated = Buffer.from([2, 0, 16, 0]);
    const content = Buffer.concat([Buffer.from("28b52ffd0038", "hex"), raw, ...Array(3200).fill(repeated)]);
    const { found, unopened } = await opened({ path: "a/bomb.zst", content }, honest);
    expect(found).toEqual(["/z/honest.tar!/x"]);
    expect(unopened).toEqual([`/a/bomb.zst: ${ratio}`]);
  });
});

describe("all archives of a layer together have a bound", () => {
  const open = async (budget: ReturnType<typeof archiveBudget>) => {
    const { sink, opened: result } = collect("file", inThisThread);
    const content = makeTar([{ path: "a-name", content: gpuFile(90) }]);
    await inspectContent("", inPieces(content), sink, budget, "x.tar");
    return Object.values((await result())?.unopened ?? {}).join();
  };
  it("of bytes", async () => {
    expect(await open({ ...archiveBudget(), left: 10 })).toMatch(/unpack to more than 17179869184 bytes/);
    expect(await open(archiveBudget())).toBe("");
  });
  it("of names", async () =>
    expect(await open({ ...archiveBudget(), names: 5 })).toMatch(/names .* more than 67108864 bytes/));
});

describe("a layer", () => {
  const long = (length: number) => "n/".repeat(length / 2);
  it("with a path that Linux does not take is refused", async () =>
    expect(await refused({ path: long(4098) })).toBe(
      "IMAGE_INVALID: layer 1: entry 2 has a name of more than 4096 bytes",
    ));
  it("with more names than memory is refused", { timeout: 120_000 }, async () => {
    const files = makeTar([{ path: "n".repeat(4000) }]).subarray(0, -1024);
    const many = async function* () {
      for (let count = 0; count < 40_000; count++) yield files;
    };
    await expect(inspectLayer({ chunks: many(), digest: null }, "layer 1")).rejects.toThrow(
      "layer 1: its names have more than 67108864 bytes",
    );
  });
  it("with more folders than memory is refused", { timeout: 120_000 }, () => {
    const changes = Array.from({ length: 2100 }, (_, index) => ({
      kind: "file" as const,
      path: `${index}/${long(4000)}`,
    }));
    expect(() => filesOfLayers([{ changes, size: 0 }])).toThrow("more than 1500000 files and folders");
  });
  it.each([".wh.", ".wh..", ".wh..."])(
    "with %s, which removes nothing that has a name, is refused",
    async (base) =>
      expect(await refused({ path: `a/b/${base}` })).toBe(
        `IMAGE_INVALID: layer 1: a/b/${base} removes no file that has a name`,
      ),
  );
  it("that claims more than it has is refused", async () =>
    expect(await refused({ path: "x", size: 8 ** 11 - 1 })).toMatch(/ends in the middle of an entry/));
  it("with a file full of holes says so", async () =>
    expect(await opened({ path: "x", type: "S", content: gpuFile(90) }, honest)).toEqual({
      found: ["/z/honest.tar!/x"],
      unopened: ["/x: a sparse file"],
    }));
  it("with links in circles, and to what is not there, opens each file once", async () =>
    expect(
      await opened(
        { path: "a", type: "1", target: "b" },
        { path: "b", type: "1", target: "a" },
        { path: "self", type: "1", target: "self" },
        { path: "c", type: "2", target: "d" },
        { path: "d", type: "2", target: "c" },
        { path: "c/x", content: gpuFile(80) },
        { path: "out", type: "1", target: "../../etc/shadow" },
        { path: "y", content: gpuFile(90) },
      ),
    ).toEqual({ found: ["/y"], unopened: [] }));
  it("with devices and pipes reads none", async () =>
    expect(
      await opened(...["3", "4", "6"].map((type) => ({ path: `dev/${type}`, type })), {
        path: "y",
        content: gpuFile(90),
      }),
    ).toEqual({ found: ["/y"], unopened: [] }));
  it("with names of line breaks and zero bytes keeps them as they are, cut at the zero", async () =>
    expect(
      (await opened({ path: "a\nb", content: gpuFile(90) }, { path: "c\0d", content: gpuFile(80) })).found,
    ).toEqual(["/a\nb", "/c"]));
});

describe("a directory of a zip that is larger than any is not read", () => {
  /** An archive of which only the end is there: it says where its directory is. */
  const sparse = (directory: number) => {
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt32LE(directory, 12);
    let most = 0;
    const read = (at: number, length: number) => {
      most = Math.max(most, length);
      const bytes = Buffer.alloc(Math.min(length, 100_000));
      if (at === end.length) bytes.writeUInt32LE(0x02014b50, 0);
      return at + length === size ? Buffer.concat([bytes.subarray(22), end]) : bytes;
    };
    const size = directory + 2 * end.length;
    const source = { size, read, readOver: (at: number, buffer: Uint8Array) => read(at, buffer.length) };
    return { source, most: () => most };
  };
  it("of bytes", () => {
    const { source, most } = sparse(64 * MiB + 1);
    expect(readZip(source)).toBeNull();
    expect(most()).toBeLessThan(MiB);
    const allowed = sparse(64 * MiB);
    readZip(allowed.source);
    expect(allowed.most()).toBe(64 * MiB);
  });
  it("of entries", () => {
    expect(readZip(memorySource(zipOf(Buffer.alloc(1), 1, 200_000)))).toHaveLength(200_000);
    expect(readZip(memorySource(zipOf(Buffer.alloc(1), 1, 200_001)))).toBeNull();
  });
});

describe("a layer without an end is refused", () => {
  it("by its entries", { timeout: 240_000 }, async () => {
    // Long names count as well, and are read fastest.
    const names = Buffer.concat(
      Array.from({ length: 2000 }, () => makeTar([{ path: "a", type: "L" }]).subarray(0, 512)),
    );
    const many = async function* () {
      for (let count = 0; count < 251; count++) yield names;
    };
    const all = async () => {
      for await (const _ of readTar(many(), "layer 1"));
    };
    await expect(all()).rejects.toThrow("layer 1: more than 500000 entries");
  });
  it("by its files without content", { timeout: 240_000 }, async () => {
    const names = Array.from({ length: 2000 }, (_, index) =>
      makeTar([{ path: `d/${index}` }]).subarray(0, 512),
    );
    const many = async function* () {
      for (let count = 0; count < 950; count++) yield Buffer.concat(names);
    };
    await expect(inspectLayer({ chunks: many(), digest: null }, "layer 1")).rejects.toThrow(
      "layer 1: more than 500000 entries",
    );
  });
  it("by the files of all layers together", async () => {
    const layers = Array.from({ length: 127 }, (_, index) => ({
      digest: `sha256:${index}` as const,
      size: 0,
    }));
    const open = (path: string) => {
      const changes = Array.from({ length: 50_000 }, () => ({ kind: "file" as const, path }));
      let opened = 0;
      const find = async () => {
        opened++;
        return { changes, size: 0 };
      };
      const read = openLayers(layers, "app", { platform: "", cache: { ...noCache, find } }, () => {
        throw new Error("every layer is in the cache");
      });
      return read.then(
        () => "",
        (error: unknown) => `${opened} ${error instanceof Error ? error.message.split("\n")[0] : error}`,
      );
    };
    const refusal = "IMAGE_INVALID: app: its layers have more than 1000000 files and links, or 134217728";
    expect(await open("a")).toContain(`21 ${refusal}`);
    expect(await open("n".repeat(1000))).toContain(`3 ${refusal}`);
  });
  it("by its bytes", { timeout: 120_000 }, async () => {
    const size = 2 ** 41;
    const record = `size=${size}\n`;
    const pax = Buffer.from(`${record.length + 3} ${record}`);
    const header = makeTar([{ path: "pax", type: "x", content: pax }, { path: "zeros" }]).subarray(0, 1536);
    // Never touched, so that the system gives no memory for it.
    const piece = Buffer.alloc(512 * MiB);
    const long = async function* () {
      yield header;
      for (let left = size; left > 0; left -= piece.length) yield piece;
    };
    await expect(inspectLayer({ chunks: long(), digest: null }, "layer 1")).rejects.toThrow(
      "layer 1: unpacks to more than 1099511627776 bytes",
    );
  });
});
