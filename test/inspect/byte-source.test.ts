/** Memory of large files: pages of their own, and bytes that are given back. */

import { expect, it } from "vitest";
import { memorySource, ownPages, release } from "../../src/inspect/byte-source.ts";

const MiB = 2 ** 20;

it("long memory is longer than what glibc would keep, and empty", () => {
  expect(ownPages(100).byteLength).toBe(100);
  const pages = ownPages(2 * MiB);
  expect(pages.byteLength).toBeGreaterThan(32 * MiB);
  expect(new Uint8Array(pages, 0, 2 * MiB).every((byte) => byte === 0)).toBe(true);
});

it("long bytes are gone when they are given back", () => {
  const bytes = new Uint8Array(2 * MiB);
  release(bytes);
  expect(bytes.length).toBe(0);
});

it("bytes that are a part of others stay, and so do short ones", () => {
  const whole = new Uint8Array(4 * MiB);
  const part = whole.subarray(MiB);
  const short = Buffer.alloc(100);
  release(part);
  release(short);
  expect([whole.length, part.length, short.length]).toEqual([4 * MiB, 3 * MiB, 100]);
});

it("a part of a source in memory leaves the source", () => {
  const source = memorySource(new Uint8Array(4 * MiB));
  release(source.read(0, 4 * MiB - 1));
  expect(source.read(0, 4 * MiB).length).toBe(4 * MiB);
});
