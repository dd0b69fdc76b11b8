import { expect, test } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCode } from "../../../src/inspect/inspect-file.ts";

/** Raw, of this length (RFC 8878, 3.1.1.2). */
function blockHead(length: number): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntLE(length << 3, 0, 3);
  return head;
}

test("zstd frames that lie over one another are read as far as the file's size allows", async () => {
  const cubin = Buffer.alloc(64);
  cubin.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x41, 8]);
  cubin.writeUInt16LE(190, 18);
  cubin.writeUInt16LE(2, 16);
  cubin.writeUInt32LE(80 << 8, 48);
  cubin.writeUInt16LE(64, 58);
  // The second block of each frame is the next frame, up to the next frame's second block.
  const unit = Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]),
    blockHead(cubin.length),
    cubin,
    blockHead(6 + 3 + cubin.length),
  ]);
  const bytes = Buffer.alloc(unit.length * 14_000, unit);
  const last = Buffer.of(1, 0, 0);
  last.copy(bytes, bytes.length - last.length);
  const source = memorySource(bytes);
  let read = 0;
  const counting = {
    ...source,
    read(at: number, length: number) {
      const found = source.read(at, length);
      read += found.length;
      return found;
    },
  };
  const { gpu } = await findCode(counting, null);
  expect(gpu?.damage[0]).toContain("was not read to its end");
  // What is always allowed, and what each frame's head and beginning cost.
  expect(read).toBeLessThan(2 ** 28 + 4 * bytes.length + 14_000 * 2 ** 18);
});
