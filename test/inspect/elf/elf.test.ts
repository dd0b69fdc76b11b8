import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readDynamic } from "../../../src/inspect/elf/dynamic.ts";
import { elfMachine, readElf } from "../../../src/inspect/elf/elf.ts";
import { forwardBranches, readGnuNotes, readNotes } from "../../../src/inspect/elf/notes.ts";
import { readSymbols, symbolNames, symbolType } from "../../../src/inspect/elf/symbols.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc } from "../../support/programs.ts";

function compile(source: string, options: readonly string[] = []): Buffer {
  const cwd = makeFolder({ "a.c": source });
  execFileSync("gcc", ["a.c", "-o", "a.out", ...options], { cwd });
  return readFileSync(join(cwd, "a.out"));
}

function opened(bytes: Buffer) {
  const source = memorySource(bytes);
  const elf = readElf(source);
  if (elf === null) throw new Error("no ELF file");
  return { source, elf };
}

const empty = "int main(void) { return 0; }\n";
const resolver = `static int one(void) { return 1; }
static int (*pick(void))(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2") ? one : one; }
int chosen(void) __attribute__((ifunc("pick")));
int main(void) { return chosen(); }
`;

describe("ELF files by gcc", needs(whyNoGcc()), () => {
  it("have sections, segments, libraries and an interpreter", () => {
    const { source, elf } = opened(compile(empty));
    expect(elf).toMatchObject({ bits: 64, damage: [] });
    expect(elf.sections.map(({ name }) => name)).toContain(".text");
    expect(readDynamic(source, elf)).toMatchObject({
      needed: ["libc.so.6"],
      soname: null,
      interpreter: expect.stringMatching(/^\/lib.*ld-/),
    });
  });

  it("say on which drivers they may be used, as NVIDIA's libcuda does", () => {
    const branches = (json: string) => {
      const note = `.long 19, ${json.length + 1}, 0\\n.asciz \\"NVIDIA Corporation\\"\\n.balign 4\\n.asciz \\"${json.replaceAll('"', '\\\\\\"')}\\"`;
      const section = '.section .note.cuda.fwd_compatibility,\\"a\\",@note';
      const library = compile(`__asm__("${section}\\n${note}\\n");\n`, ["-shared", "-nostdlib"]);
      const { source, elf } = opened(library);
      return forwardBranches(readNotes(source, elf));
    };
    expect(branches('{"format":1,"CUDA version":"12.9","driver":[535,550],"device":[1]}')).toEqual([
      "535",
      "550",
    ]);
    expect(branches('{"format":1,"CUDA version":"13.2"}')).toBeNull();
    expect(branches('{"driver":["535",-1,5.5]}')).toEqual([]);
    expect(branches("{")).toBeNull();
  });

  it("have a name of their own", () => {
    const { source, elf } = opened(compile("int x;\n", ["-shared", "-fPIC", "-Wl,-soname,libx.so.3"]));
    expect(readDynamic(source, elf).soname).toBe("libx.so.3");
  });

  it("name the newest glibc whose symbols they ask for, as readelf does, and none where they are static", () => {
    const program = compile(
      "#include <stdio.h>\n#include <math.h>\nint main(int c, char **v) { return puts(v[0]) + (int)pow(c, c); }\n",
      ["-lm"],
    );
    const { source, elf } = opened(program);
    const cwd = makeFolder({});
    writeFileSync(join(cwd, "a"), program);
    const text = execFileSync("readelf", ["--version-info", "--wide", "a"], { cwd, encoding: "utf8" });
    const needs = text.slice(text.indexOf("Version needs section"));
    const versions = [...needs.matchAll(/Name: GLIBC_([\d.]+)/g)].map(([, version = ""]) => version);
    const newest = versions.sort((a, b) => Number(b.split(".")[1]) - Number(a.split(".")[1]))[0];
    expect(readDynamic(source, elf).libc).toEqual({ name: "glibc", version: newest });
    expect(newest).toMatch(/^2\.\d+/);
    const alone = opened(compile("void _start(void) {}\n", ["-nostdlib", "-static"]));
    expect(readDynamic(alone.source, alone.elf).libc).toBeNull();
  });

  it("are musl's by the libraries that they name", () => {
    const cwd = makeFolder({ "a.c": "int x;\n" });
    const build = (name: string, args: readonly string[]) =>
      execFileSync("gcc", ["-shared", "-fPIC", "-nostdlib", "a.c", "-o", name, ...args], { cwd });
    for (const libc of ["libc.musl-x86_64.so.1", "libc.so"]) {
      build(libc, [`-Wl,-soname,${libc}`]);
      build("b.so", ["-Wl,--no-as-needed", libc]);
      const { source, elf } = opened(readFileSync(join(cwd, "b.so")));
      expect(readDynamic(source, elf).libc, libc).toEqual({ name: "musl", version: null });
    }
  });

  it("say the oldest kernel, and nothing of the CPU unless somebody asked for it", () => {
    const { source, elf } = opened(compile(empty));
    const notes = readGnuNotes(readNotes(source, elf));
    expect(notes.kernel).toMatch(/^\d+\.\d+\.\d+$/);
    expect(notes.neededLevel).toBeNull();
  });

  it("say the level that the loader enforces", needs(process.arch === "x64" ? null : "no x86-64 CPU"), () => {
    const { source, elf } = opened(compile(empty, ["-march=x86-64-v3", "-mneeded"]));
    expect(elf.machine).toBe(elfMachine.x86_64);
    expect(readGnuNotes(readNotes(source, elf)).neededLevel).toBe("x86-64-v3");
  });

  it(
    "show functions that are chosen when the program starts",
    needs(process.arch === "x64" ? null : "no x86-64 CPU"),
    () => {
      const { source, elf } = opened(compile(resolver));
      const symbols = [...readSymbols(source, elf, "symbols")];
      const names = symbolNames(source, elf, "symbols");
      expect(symbols.find(({ nameAt }) => names.text(nameAt) === "chosen")?.type).toBe(
        symbolType.indirectFunction,
      );
      expect(symbols.find(({ nameAt }) => names.text(nameAt) === "main")).toMatchObject({
        type: symbolType.function,
        isImport: false,
      });
    },
  );

  it("may have 32 bits", needs(process.arch === "x64" ? null : "no x86-64 CPU"), () => {
    const cwd = makeFolder({ "a.s": ".globl x\nx: ret\n" });
    execFileSync("as", ["--32", "a.s", "-o", "a.o"], { cwd });
    const { elf } = opened(readFileSync(join(cwd, "a.o")));
    expect(elf).toMatchObject({ bits: 32, machine: elfMachine.x86, damage: [] });
    expect(elf.sections.map(({ name }) => name)).toContain(".text");
  });

  it("are told apart from damaged ones", () => {
    const bytes = compile(empty);
    expect(readElf(memorySource(bytes.subarray(0, 3)))).toBeNull();
    expect(readElf(memorySource(bytes.subarray(0, 40)))?.damage).toEqual(["the ELF header is cut off"]);
    expect(readElf(memorySource(bytes.subarray(0, 5000)))?.damage).not.toEqual([]);
    const big = Buffer.from(bytes);
    big[5] = 2;
    expect(readElf(memorySource(big))?.damage).toEqual(["an ELF file of big-endian byte order"]);
  });
});

describe("numbers in an ELF header", () => {
  it("never take more memory than the file has bytes", () => {
    const head = Buffer.alloc(64);
    head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
    head.writeBigUInt64LE(2n ** 63n, 40);
    head.writeUInt16LE(64, 58);
    head.writeUInt16LE(0xffff, 60);
    expect(readElf(memorySource(head))?.damage[0]).toContain("beyond the end");
    head.writeBigUInt64LE(0n, 32);
    head.writeBigUInt64LE(1n, 40);
    head.writeUInt16LE(0, 60);
    expect(readElf(memorySource(Buffer.concat([head, Buffer.alloc(64, 0xff)])))?.sections).toEqual([]);
  });
});
