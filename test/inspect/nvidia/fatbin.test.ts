import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readContainer } from "../../../src/inspect/nvidia/fatbin.ts";
import { findCode } from "../../../src/inspect/inspect-file.ts";
import { makeConcatenated, makeContainer, makeEntry } from "../support/make-fatbin.ts";

const codeOf = async (...parts: Uint8Array[]) =>
  (await findCode(memorySource(Buffer.concat(parts)), null)).gpu;
const targetsOf = async (...parts: Uint8Array[]) =>
  (await codeOf(...parts))?.targets.map(({ target }) => target);

describe("a container of GPU code", () => {
  it("names machine code and PTX with its suffix", async () => {
    const bytes = makeContainer([
      makeEntry({ kind: 2, arch: 90, flags: 0x100011, version: [1, 7] }),
      makeEntry({ kind: 2, arch: 100, flags: 0x1200011, version: [1, 8] }),
      makeEntry({ kind: 1, arch: 80, headerSize: 88 }),
      makeEntry({ kind: 4, arch: 35, version: [1, 7] }),
    ]);
    expect(await targetsOf(bytes)).toEqual(["sm_35", "sm_90a", "sm_100f", "compute_80"]);
  });

  it("tells LTO code from machine code and PTX", async () => {
    const code = await codeOf(makeContainer([makeEntry({ kind: 8, arch: 89 })]));
    expect(code).toMatchObject({ targets: [], lto: [{ target: "compute_89", modules: 1 }] });
  });

  it("reports a kind that it does not know as unknown, never as absent", async () => {
    const code = await codeOf(
      makeContainer([makeEntry({ kind: 0x200, arch: 90 }), makeEntry({ kind: 16, arch: 90 })]),
    );
    expect(code?.unknown).toEqual([
      { kind: 16, entries: 1 },
      { kind: 512, entries: 1 },
    ]);
    expect(code?.targets).toEqual([]);
  });

  it("counts modules, not entries", async () => {
    const one = makeContainer([makeEntry({ kind: 2, arch: 80 }), makeEntry({ kind: 2, arch: 80 })]);
    const other = makeContainer([makeEntry({ kind: 2, arch: 80 }), makeEntry({ kind: 2, arch: 90 })]);
    const code = await codeOf(one, other);
    expect(code?.modules).toBe(2);
    expect(code?.bytes).toBe(one.length + other.length);
    expect(code?.targets).toEqual([
      { target: "sm_80", modules: 2 },
      { target: "sm_90", modules: 1 },
    ]);
  });

  it("is found at any place, also across the windows of the search", async () => {
    const container = makeContainer([makeEntry({ kind: 2, arch: 75 })]);
    for (const before of [1, 7, 4 * 2 ** 20 - 9, 4 * 2 ** 20 - 1, 4 * 2 ** 20])
      expect(await targetsOf(Buffer.alloc(before, 0x50), container), String(before)).toEqual(["sm_75"]);
  });

  it("reads concatenated entries by their table", async () => {
    const entry = makeConcatenated([
      { kind: 2, arch: 90, flags: 0x100011 },
      { kind: 1, arch: 80 },
    ]);
    const code = await codeOf(makeContainer([entry, makeEntry({ kind: 2, arch: 70 })]));
    expect(code?.targets.map(({ target }) => target)).toEqual(["sm_70", "sm_90a", "compute_80"]);
    expect(code?.compression).toEqual({ none: 1, zstd: 2 });
    expect(code?.unknown).toEqual([]);
  });

  it.each([[7], [100], [2 ** 31]])(
    "knows nothing of concatenated entries whose table of %d bytes is wrong",
    async (size) => {
      const code = await codeOf(makeContainer([makeConcatenated([{ kind: 2, arch: 90 }], size)]));
      expect(code?.unknown).toEqual([{ kind: 0x100, entries: 1 }]);
      expect(code?.damage[0]).toContain("does not add up");
    },
  );

  it("says which toolkit wrote what, as far as headers tell", async () => {
    const code = await codeOf(
      makeContainer([
        makeEntry({ kind: 1, arch: 90, version: [8, 4], flags: 0x8011, compressedSize: 9 }),
        makeEntry({ kind: 1, arch: 90, version: [99, 1] }),
        makeEntry({ kind: 2, arch: 90, version: [1, 7] }),
        makeEntry({ kind: 2, arch: 90, version: [1, 8] }),
        makeEntry({ kind: 2, arch: 120, version: [1, 8] }),
      ]),
    );
    expect(
      code?.toolkits.map(({ code, minimum, maximum, isZstd }) => [code, minimum, maximum, isZstd]),
    ).toEqual([
      ["ptx", "12.4", "12.4", true],
      ["ptx", "13.6", null, false],
      ["sass", null, "12.9", false],
      ["sass", "12.8", null, false],
      ["sass", "13.0", null, false],
    ]);
  });
});

describe("a damaged container", () => {
  const entry = makeEntry({ kind: 2, arch: 80 });

  it("keeps what stands before the damage, and says so", async () => {
    const code = await codeOf(makeContainer([entry, makeEntry({ kind: 2, arch: 90, claimed: 2 ** 40 })]));
    expect(code?.targets.map(({ target }) => target)).toEqual(["sm_80"]);
    expect(code?.damage[0]).toContain("claims a header of 64 bytes and a payload of 1099511627776");
  });

  it("claims more than its file has", () => {
    const container = readContainer(memorySource(makeContainer([entry], 2 ** 50)), 0);
    expect(container?.damage).toEqual([
      "a container of GPU code claims 1125899906842624 bytes, its file has 80",
    ]);
    expect(container?.entries).toHaveLength(1);
  });

  it("ends behind an empty one", () => {
    expect(readContainer(memorySource(makeContainer([])), 0)).toMatchObject({ entries: [], damage: [] });
    expect(readContainer(memorySource(makeContainer([]).subarray(0, 15)), 0)).toBeNull();
  });
});
