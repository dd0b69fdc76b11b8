import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { maxFunctions, readFunctionRanges } from "../../../src/inspect/cpu/function-ranges.ts";
import { roomsOf } from "../../../src/inspect/cpu/function-rooms.ts";
import { type Elf, type ElfSection, executableSection, sectionType } from "../../../src/inspect/elf/elf.ts";
import { symbolType } from "../../../src/inspect/elf/symbols.ts";

function elfOf(section: Omit<ElfSection, "offset" | "link">): Elf {
  return {
    bits: 64,
    machine: 62,
    type: 2,
    flags: 0,
    osAbi: 0,
    abiVersion: 0,
    version: 1,
    sections: [{ ...section, offset: 0, link: 0 }],
    tables: [],
    segments: [],
    entry: 0,
    damage: [],
  };
}

/** Ranges of a file that has nothing but a table of symbols: address and size of each function. */
function rangesOf(count: number, functionAt: (index: number) => readonly [address: number, size: number]) {
  const bytes = Buffer.alloc(count * 24);
  for (let index = 0; index < count; index++) {
    const at = index * 24;
    const [address, size] = functionAt(index);
    bytes[at + 4] = symbolType.function;
    // Of section 1: not an import.
    bytes[at + 6] = 1;
    bytes.writeUInt32LE(address, at + 8);
    bytes.writeUInt32LE(size, at + 16);
  }
  const table = { name: ".symtab", type: sectionType.symbols, flags: 0, address: 0, size: bytes.length };
  return readFunctionRanges(memorySource(bytes), elfOf(table));
}

describe("functions of a file", () => {
  it("are sorted, one for each beginning, the longest", () => {
    const made = [
      [30, 4],
      [10, 5],
      [30, 9],
      [20, 0],
      [10, 2],
    ] as const;
    const ranges = rangesOf(made.length, (index) => made[index] ?? [0, 0]);
    const places = Array.from({ length: ranges.count }, (_, index) => [
      ranges.addressAt(index),
      ranges.sizeAt(index),
    ]);
    expect(places).toEqual([
      [10, 5],
      [30, 9],
    ]);
    expect([0, 10, 11, 30, 31].map((address) => ranges.firstFrom(address))).toEqual([0, 0, 1, 1, 2]);
    expect(ranges.addressAt(2)).toBe(Number.POSITIVE_INFINITY);
  });

  it("are read to a bound, however many a hostile file has", { timeout: 60_000 }, () => {
    expect(rangesOf(maxFunctions + 1000, (index) => [index, 1]).count).toBe(maxFunctions);
  });

  it("end, and no code is around an address behind them that is in no code section", () => {
    const ranges = rangesOf(2, (index) => [10 + 20 * index, 5]);
    const code = { name: ".text", type: sectionType.program, flags: executableSection, address: 0, size: 40 };
    const { endAround } = roomsOf(elfOf(code), ranges);
    // In front of functions, in one, between them, behind the last one, behind the section.
    expect([5, 12, 20, 34, 37, 40, 500].map(endAround)).toEqual([10, 15, 30, 35, 40, null, null]);
  });
});
