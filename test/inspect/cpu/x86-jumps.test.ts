import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { readX86Code } from "../../../src/inspect/cpu/x86-code.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoEmulator, whyNoGcc } from "../../support/programs.ts";

const whyNoX86 = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

/** `mov eax, imm32`, whose constant is an instruction of AVX2. */
const constant = ".byte 0xb8\nvpaddd %ymm0, %ymm1, %ymm2\n";
/** `mov rax, imm64`, whose constant is a jump. */
const jumping = (name: string, to: string) =>
  `${name}: .byte 0x48, 0xb8\n.byte 0xe9\n.long ${to} - . - 4\n.skip 3, 0x90\nret\n`;
const main = (body: string) =>
  `.text\n.globl main\n.type main, @function\nmain: xor %eax, %eax\n${body}\nxor %eax, %eax\nret\n.size main, . - main\n`;

/** Each hop leads back to the one before. The first in the file leads to the hidden instruction. */
const hops = (count: number) =>
  [
    `.text\nlast: ${constant}xor %eax, %eax\nret\n`,
    ...Array.from({ length: count }, (_, index) =>
      jumping(`hop${index}`, index === 0 ? "last + 1" : `hop${index - 1} + 2`),
    ),
    main(`jmp hop${count - 1} + 2`),
  ].join("");

function build(source: string, options: readonly string[] = []): string {
  const cwd = makeFolder({ "a.s": `${source}.section .note.GNU-stack, "", @progbits\n` });
  execFileSync("gcc", ["-static", "a.s", "-o", "a.out", ...options], { cwd });
  return join(cwd, "a.out");
}

async function inspect(file: string) {
  const found = await inspectFile(memorySource(readFileSync(file)), false);
  if (found?.cpu == null) throw new Error("no code");
  return { found, cpu: found.cpu };
}

/** Without the C library, whose code chooses AVX2. */
const alone = ["-nostdlib", "-Wl,--defsym=_start=begin", "-Wl,-z,noseparate-code"];
const begin = ".text\n.globl begin\nbegin: call main\nmov %eax, %edi\nmov $60, %eax\nsyscall\n";
const runOn = (model: string, file: string) => spawnSync("qemu-x86_64", ["-cpu", model, file]);

describe(
  "AVX2 in a program that runs on no CPU without AVX2",
  needs(whyNoX86 ?? whyNoEmulator("x86_64")),
  () => {
    it.each([
      ["in a constant, behind a jump", main(`jmp 1f + 1\n1: ${constant}`)],
      ["behind a conditional jump", main(`jz 1f + 1\n1: ${constant}`)],
      ["behind a call", main(`call 1f + 1\njmp 2f\n1: ${constant}ret\n2:`)],
      ["in an address", main("jmp 1f + 3\n1: .byte 0x8b, 0x04, 0x25\nvpaddd %ymm0, %ymm1, %ymm2")],
      ["behind a jump in a constant", main(`jmp 1f + 2\n2: ${constant}jmp 3f\n${jumping("1", "2b + 1")}3:`)],
      ["behind ten jumps back", hops(10)],
      ["in another megabyte", `${main("jmp far + 1\nback:")}.skip 1200000, 0x90\nfar: ${constant}jmp back\n`],
      [
        "in another segment",
        `${main("jmp far + 1\nback:")}.section .far, "awx", @progbits\nfar: ${constant}jmp back\n`,
      ],
      [
        "behind the end of a function, in the next one",
        `${main("jmp cut")}.type cut, @function\ncut: .byte 0xb8, 1, 2\n.size cut, . - cut\n.type next, @function\nnext: .byte 0x48, 0xb8\nvpaddd %ymm0, %ymm1, %ymm2\nxor %eax, %eax\nret\nnop\nret\n.size next, . - next\n`,
      ],
      [
        "beside a byte that is no instruction",
        `${main("jmp far\nback:")}.byte 0x06\nfar: vpaddd %ymm0, %ymm1, %ymm2\njmp back\n`,
      ],
      [
        "in constants beside a byte that is no instruction",
        `${main("jmp far\nback:")}.section .rodata, "a", @progbits\n.byte 0x06\nfar: vpaddd %ymm0, %ymm1, %ymm2\njmp back\n`,
      ],
      [
        "in a section that is named as one without code",
        `${main("jmp far\nback:")}.section .nv_far, "ax", @progbits\nfar: vpaddd %ymm0, %ymm1, %ymm2\njmp back\n`,
      ],
    ])("is found %s", async (_, source) => {
      for (const options of [alone, [...alone, "-s"]]) {
        const file = build(begin + source, options);
        expect(runOn("Nehalem", file).signal).toBe("SIGILL");
        expect(runOn("Haswell", file).status).toBe(0);
        const { cpu } = await inspect(file);
        const need = findCpuNeed({ cpu, isVariant: false, neededLevel: null, through: [] });
        expect(need.features).toEqual({ avx2: "compiledFor" });
      }
    });

    it("makes the file unknown where jumps lead back without end", async () => {
      const { found } = await inspect(build(begin + hops(40), alone));
      expect(found.unopened).toEqual([expect.stringContaining("instruction")]);
    });
  },
);

it("counts nothing twice where two streams of instructions meet", needs(whyNoX86), async () => {
  // The jump leads behind the prefix LOCK, as in C libraries.
  const { cpu } = await inspect(
    build(begin + main("jmp 1f + 1\n1: lock cmpxchg %eax, (%rsp)\nvpaddd %ymm0, %ymm1, %ymm2"), alone),
  );
  expect(cpu.features.avx2).toEqual({ instructions: 1, doubtful: 0 });
});

it.each([
  ["short jumps into themselves", Buffer.of(0xeb, 0xff)],
  ["short jumps back", Buffer.of(0x48, 0xb8, 0xeb, 0xf0, 0xeb, 0xf3, 0xeb, 0xf1, 0xeb, 0xf5)],
  ["calls into one another", Buffer.of(0xe8, 0x01, 0xfe, 0xff, 0xff)],
  ["prefixes", Buffer.of(0x66, 0x2e, 0xeb, 0xfc)],
])("takes time in proportion to the file: %s", async (_, unit) => {
  const bytes = Buffer.alloc(2 ** 20, unit);
  const segment = { type: 1, flags: 5, address: 0, offset: 0, size: bytes.length };
  const regions = [{ offset: 0, size: bytes.length, kind: "function" as const }];
  const before = process.cpuUsage();
  await readX86Code(memorySource(bytes), regions, 64, [segment]);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6).toBeLessThan(4);
});
