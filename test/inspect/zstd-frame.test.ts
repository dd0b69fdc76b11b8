import { describe, expect, it } from "vitest";
import { decompressZstd } from "../../src/inspect/zstd-frame.ts";

/** One raw block in one segment (RFC 8878, 3.1.1): nothing is compressed, and all of the frame is there. */
function frameOf(content: Buffer, hasChecksum = false): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, hasChecksum ? 0x24 : 0x20, content.length]);
  const block = (content.length << 3) | 1;
  const checksum = Buffer.alloc(hasChecksum ? 4 : 0);
  return Buffer.concat([head, Buffer.from([block & 0xff, block >> 8, 0]), content, checksum]);
}

describe("a frame in the middle of a library", () => {
  const content = Buffer.from("a cubin");
  it.each([
    ["other bytes", Buffer.alloc(100, 0xa5)],
    ["another frame", frameOf(Buffer.from("another"))],
    ["nothing", Buffer.alloc(0)],
  ])("ends before %s", (_name, behind) => {
    for (const hasChecksum of [false, true]) {
      const input = Buffer.concat([frameOf(content, hasChecksum), behind]);
      expect(Buffer.from(decompressZstd(input, 4096) ?? [])).toEqual(content);
      expect(Buffer.from(decompressZstd(input, 3) ?? [])).toEqual(content.subarray(0, 3));
    }
  });
  it("that is cut off is none", () =>
    expect(decompressZstd(frameOf(content).subarray(0, 10), 4096)).toBeNull());
});
