import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { goFunctionRanges, goFunctionsNamed } from "../../../src/inspect/cpu/go-functions.ts";
import { type Elf, executableSection, sectionType } from "../../../src/inspect/elf/elf.ts";

const names = ["main.main", "os.Exit", "runtime.throw"];
const text = 0x40_1000;

interface Head {
  readonly magic?: number;
  readonly count?: number;
  readonly text?: number;
  readonly namesEnd?: number;
  readonly pointer?: number;
}

/** Go's table of three functions, each of 16 bytes, and the table of tables behind it. */
function programOf({ magic = 0xffff_fff1, ...head }: Head = {}) {
  const [namesAt, namesBytes] = [72, names.join("\0").length + 1];
  const functions = namesAt + namesBytes;
  const entries = 8 * names.length + 4;
  const size = functions + entries + 8 * names.length;
  const bytes = Buffer.alloc(size + 184);
  bytes.writeUInt32LE(magic, 0);
  bytes.writeUInt8(1, 6);
  bytes.writeUInt8(8, 7);
  const put = (at: number, value: number) => bytes.writeBigUInt64LE(BigInt(value), at);
  put(8, head.count ?? names.length);
  put(24, head.text ?? text);
  put(32, namesAt);
  put(40, head.namesEnd ?? functions);
  put(64, functions);
  bytes.write(`${names.join("\0")}\0`, namesAt);
  names.forEach((name, index) => {
    bytes.writeUInt32LE(16 * index, functions + 8 * index);
    bytes.writeUInt32LE(entries + 8 * index, functions + 8 * index + 4);
    bytes.writeUInt32LE(16 * index, functions + entries + 8 * index);
    bytes.writeUInt32LE(
      names.slice(0, names.indexOf(name)).join("\0").length + (index === 0 ? 0 : 1),
      functions + entries + 8 * index + 4,
    );
  });
  bytes.writeUInt32LE(16 * names.length, functions + 8 * names.length);
  put(size, head.pointer ?? 0x50_0000);
  put(size + 176, text);
  const section = { type: sectionType.program, flags: 0, link: 0 };
  const elf: Elf = {
    ...{ bits: 64, machine: 62, type: 2, flags: 0, osAbi: 0, abiVersion: 0, version: 1, entry: 0 },
    ...{ tables: [], segments: [], damage: [] },
    sections: [
      { ...section, name: ".text", flags: executableSection, address: text, offset: 0, size: 48 },
      { ...section, name: ".gopclntab", address: 0x50_0000, offset: 0, size },
      { ...section, name: ".go.module", address: 0x60_0000, offset: size, size: 184 },
    ],
  };
  return { source: memorySource(bytes), elf };
}

const marks = ["main", "runtime."];
const namedIn = ({ source, elf }: ReturnType<typeof programOf>) =>
  Object.fromEntries(goFunctionsNamed(source, elf, marks, (name) => name !== "main"));

describe("Go's table of functions", () => {
  it("tells the names that are wanted, and the ranges of all", () => {
    expect(namedIn(programOf())).toEqual({ [text]: "main.main", [text + 32]: "runtime.throw" });
    const { source, elf } = programOf();
    const ranges = goFunctionRanges(source, elf);
    expect([ranges.count, ranges.addressAt(1), ranges.sizeAt(1)]).toEqual([3, text + 16, 16]);
  });

  it("is read where the head of the table has no address of the code, as since Go 1.26", () => {
    expect(namedIn(programOf({ text: 0 }))).toEqual(namedIn(programOf()));
  });

  it.each<[string, Head]>([
    ["another version of the table", { magic: 0xffff_fffa }],
    ["more functions than the table can have", { count: 40 }],
    ["more functions than any program has", { count: 2 ** 40 }],
    ["names behind the table", { namesEnd: 2 ** 30 }],
    ["code outside all code", { text: 0x70_0000 }],
    ["no address of the code, and a table of tables of something else", { text: 0, pointer: 0x51_0000 }],
  ])("is left alone with %s", (_, head) => {
    const { source, elf } = programOf(head);
    expect(namedIn({ source, elf })).toEqual({});
    expect(goFunctionRanges(source, elf).count).toBe(0);
  });
});
