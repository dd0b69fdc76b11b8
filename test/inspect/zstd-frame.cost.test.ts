import { decompress } from "fzstd";
import { expect, test, vi } from "vitest";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { findCode } from "../../src/inspect/inspect-file.ts";
import { makeBundle, makeCodeObject, makeCompressed } from "./support/make-amd.ts";

vi.mock("fzstd", { spy: true });

test("a frame whose blocks are more than it claims is not decompressed", async () => {
  const whole = makeBundle([{ id: "hipv4-amdgcn-amd-amdhsa--gfx90a", bytes: makeCodeObject(0x53f) }]);
  const amd = async (packed: Buffer, plainSize: number) =>
    (await findCode(memorySource(makeCompressed(whole, 3, { packed, plainSize })), null)).amd;
  // A window of one segment, 16 MiB, and a block of 128 KiB in each four bytes (RFC 8878, 3.1.1.2.2).
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 1]);
  const block = Buffer.from([0x02, 0x00, 0x10, 0x00]);
  const packed = Buffer.concat([head, Buffer.alloc(4 * 500_000, block), Buffer.from([0x03, 0, 0x10, 0])]);
  expect((await amd(packed, 2 ** 24))?.damage.join()).toMatch(/is damaged/);
  expect(decompress).not.toHaveBeenCalled();
  const honest = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 100, 0x23, 0x03, 0, 0]);
  await amd(honest, 100);
  expect(decompress).toHaveBeenCalledOnce();
});
