import { describe, expect, it } from "vitest";
import { beginningOfZstd, decompressZstd } from "../../src/inspect/zstd-frame.ts";

/** One raw block in one segment (RFC 8878, 3.1.1): nothing is compressed, and all of the frame is there. */
function frameOf(content: Buffer, checksum: number | null = null): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, checksum === null ? 0x20 : 0x24, content.length]);
  const block = (content.length << 3) | 1;
  const end = Buffer.alloc(checksum === null ? 0 : 4);
  if (checksum !== null) end.writeUInt32LE(checksum);
  return Buffer.concat([head, Buffer.from([block & 0xff, block >> 8, 0]), content, end]);
}

describe("a frame in the middle of a library", () => {
  const content = Buffer.from("a cubin");
  it.each([
    ["other bytes", Buffer.alloc(100, 0xa5)],
    ["another frame", frameOf(Buffer.from("another"))],
    ["nothing", Buffer.alloc(0)],
  ])("ends before %s", async (_name, behind) => {
    const input = Buffer.concat([frameOf(content), behind]);
    expect(Buffer.from((await decompressZstd(input, 4096)) ?? [])).toEqual(content);
    expect(await decompressZstd(input, 3)).toBeNull();
  });
  it("that is cut off is none", async () =>
    expect(await decompressZstd(frameOf(content).subarray(0, 10), 4096)).toBeNull());
  it("has a checksum that is looked at", async () => {
    // By zstd 1.5.4.
    const right = frameOf(content, 0xcbda9405);
    expect(Buffer.from((await decompressZstd(right, 4096)) ?? [])).toEqual(content);
    expect(await decompressZstd(frameOf(content, 0), 4096)).toBeNull();
  });
  it("that is damaged is none", async () => {
    const damaged = frameOf(content);
    // A reserved type of block.
    damaged[6] = (damaged[6] ?? 0) | 6;
    expect(await decompressZstd(damaged, 4096)).toBeNull();
    expect(await beginningOfZstd(damaged)).toBeNull();
  });
  it("begins with the first block, however much of it is there", async () => {
    const first = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x60, 0xff, 0xff, content.length << 3, 0, 0]);
    expect(Buffer.from((await beginningOfZstd(Buffer.concat([first, content, content]))) ?? [])).toEqual(
      content,
    );
    expect(await decompressZstd(Buffer.concat([first, content]), 4096)).toBeNull();
  });
});
