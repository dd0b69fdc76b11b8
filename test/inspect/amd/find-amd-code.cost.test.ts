/** What AMD's GPU code costs to find: files of heads that overlap, each of which names as much as it can. Nothing is timed. */

import { describe, expect, test } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { isLinear, measureGrowth } from "../../properties/support/growth.ts";
import { makeBundle, makeCodeObject } from "../support/make-amd.ts";

// Loaded when the counting has begun.
const { findCode } = await import("../../../src/inspect/inspect-file.ts");
const { readCompressedBundle } = await import("../../../src/inspect/amd/compressed-bundle.ts");

/** Of the smallest bundle: `next` bytes behind its first id the table goes on, in the head that follows. */
function bundleHead(id: string, next: number, { offset = 0, size = 0 } = {}): Buffer {
  const head = Buffer.alloc(56 + id.length);
  head.write("__CLANG_OFFLOAD_BUNDLE__", 0, "latin1");
  head.writeBigUInt64LE(2730n, 24);
  head.writeBigUInt64LE(BigInt(offset), 32);
  head.writeBigUInt64LE(BigInt(size), 40);
  head.writeBigUInt64LE(BigInt(id.length + next), 48);
  head.write(id, 56, "latin1");
  return head;
}

function compressedHead(version: 1 | 2 | 3, plain: number, total: number): Buffer {
  const head = Buffer.alloc(32);
  head.write("CCOB", 0, "latin1");
  head.writeUInt16LE(version, 4);
  if (version < 3) head.writeUInt32LE(version === 1 ? plain : total, 8);
  if (version === 2) head.writeUInt32LE(plain, 12);
  if (version === 3) {
    head.writeBigUInt64LE(BigInt(total), 8);
    head.writeBigUInt64LE(BigInt(plain), 16);
  }
  return head;
}

const object = makeCodeObject(0x53f);
const entry = { id: "hip-amd-", bytes: object };

const units: Readonly<Record<string, Uint8Array>> = {
  "tables that overlap": bundleHead("a-", 32),
  "tables that overlap, of objects beyond the end": bundleHead("a-amd", 32, { size: 2 ** 40 }),
  "tables that overlap, of objects that are one": bundleHead("a-amd", 32, { size: 64 }),
  "tables of empty entries": Buffer.concat([bundleHead("a-", 0), Buffer.alloc(960)]),
  "tables of host entries": Buffer.concat([
    bundleHead("host-", 0),
    makeBundle([], { align: 1 }).subarray(32),
  ]),
  "bundles, each in the one before": makeBundle([{ ...entry, size: 8192 }, { id: "host-" }], { align: 1 }),
  "bundles with code that is not AMD's": makeBundle([{ id: "a-", bytes: Buffer.alloc(16) }], { align: 1 }),
  "code objects": object,
  ...Object.fromEntries(
    ([1, 2, 3] as const).flatMap((version) =>
      [0, 1000, 2 ** 24, 2 ** 28, 2 ** 31].map((plain) => [
        `compressed bundles of version ${version} that claim ${plain} bytes`,
        compressedHead(version, plain, 4096),
      ]),
    ),
  ),
};

describe.each(Object.entries(units))("%s", (_, unit) => {
  const make = (size: number) => Buffer.alloc(size * 16, unit);

  test("cost steps in proportion to the file", async () => {
    const growth = await measureGrowth(make, (bytes) => findCode(memorySource(bytes), null));
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });

  test("have each byte read a few times, however large the file is", async () => {
    const [small, large] = [make(2 ** 12), make(2 ** 15)];
    expect(await bytesRead(large)).toBeLessThan(16 * (await bytesRead(small)));
    expect(await bytesRead(large)).toBeLessThan(2 ** 22 + 64 * large.length);
  });
});

test("a damaged frame uses up what is allowed, however little it claims", () => {
  const head = memorySource(compressedHead(1, 1000, 0));
  const budget = { left: 2 ** 17 };
  const tries = [1, 2, 3].map(() => readCompressedBundle(head, 0, budget)?.damage[0]);
  expect(tries).toEqual(
    ["is damaged", "is damaged", "would be 1000 bytes, and is not read"].map((why) =>
      expect.stringMatching(`${why}$`),
    ),
  );
});

async function bytesRead(bytes: Uint8Array): Promise<number> {
  const source = memorySource(bytes);
  let read = 0;
  await findCode(
    {
      ...source,
      read(at, length) {
        const found = source.read(at, length);
        read += found.length;
        return found;
      },
    },
    null,
  );
  return read;
}
