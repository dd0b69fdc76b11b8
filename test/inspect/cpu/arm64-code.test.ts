import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readArm64Code } from "../../../src/inspect/cpu/arm64-code.ts";
import { arm64Decoder, arm64Rows, unknownWord } from "../../../src/inspect/cpu/arm64-decoder.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { whyNoCompiler } from "../../support/programs.ts";
import { randomFrom } from "../../hostile/mutate.ts";
import { needs } from "../../support/needs.ts";
import { knownWords, whyNoLlvm } from "../support/arm64-oracle.ts";

function code(words: readonly number[], isFunction = true) {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, index * 4);
  return readArm64Code(memorySource(bytes), [
    { offset: 0, size: bytes.length, kind: isFunction ? "function" : "gap" },
  ]);
}

describe("AArch64 code", () => {
  it("of Armv8.0-A needs nothing", async () => {
    // add x0, x1, x2; ldr x0, [x1]; fadd v0.4s, v1.4s, v2.4s; ldxr; ret; bti c; nop; fcvt s0, h0
    const plain = [
      0x8b020020, 0xf9400020, 0x4e22d420, 0xc85f7c20, 0xd65f03c0, 0xd503245f, 0xd503201f, 0x1ee24000,
    ];
    expect((await code(plain)).features).toEqual({});
  });

  it.each([
    ["ldadd x0, x1, [x2]", 0xf8200041, ["atomics"]],
    ["casal x0, x1, [x2]", 0xc8e0fc41, ["atomics"]],
    ["ldapr x0, [x1]", 0xf8bfc020, ["lrcpc"]],
    ["crc32cb w0, w1, w2", 0x1ac25020, ["crc32"]],
    ["aese v0.16b, v1.16b", 0x4e284820, ["aes"]],
    ["udot v0.4s, v1.16b, v2.16b", 0x6e829420, ["asimddp"]],
    ["fadd h0, h1, h2", 0x1ee22820, ["fphp"]],
    ["fcadd v0.8h, v1.8h, v2.8h, #90", 0x6e42e420, ["asimdhp", "fcma"]],
    ["retaa", 0xd65f0bff, ["paca"]],
  ])("%s", async (_text, word, features) => {
    expect(Object.keys((await code([word])).features)).toEqual(features);
  });

  it.each([
    ["add z0.s, z1.s, z2.s", 0x04a20020, ["sve"]],
    ["smlalb z0.s, z1.h, z2.h", 0x44824020, ["sve2"]],
    ["bext z0.b, z1.b, z2.b", 0x4502b020, ["svebitperm"]],
    ["aese z0.b, z0.b, z1.b", 0x4522e020, ["sveaes"]],
    ["bfdot z0.s, z1.h, z2.h", 0x64628020, ["svebf16"]],
    ["smmla z0.s, z1.b, z2.b", 0x45029820, ["svei8mm"]],
    ["mrs x0, rndr", 0xd53b2400, ["rng"]],
    ["msr dit, #1", 0xd503415f, ["dit"]],
    ["mrs x0, dit", 0xd53b42a0, ["dit"]],
    ["pacga x0, x1, x2", 0x9ac23020, ["pacg"]],
    ["dc cvadp, x0", 0xd50b7d20, ["dcpodp"]],
  ])("%s", async (_text, word, features) => {
    const found = await code([word]);
    expect(Object.keys(found.features)).toEqual(features);
    expect(found.unknownInstructions).toBe(0);
  });

  it("cannot tell the parts of SME apart, and says so", async () => {
    const { features } = await code([0x80800000]);
    expect(features.sme).toEqual({ instructions: 1, doubtful: 0 });
    expect(features.sme2).toEqual({ instructions: 0, doubtful: 1 });
  });

  it("needs no SVE for unwinding the stack of who uses it", async () =>
    expect((await code([0x04e0e3e0])).features.sve).toEqual({ instructions: 0, doubtful: 1 }));

  it.each([
    ["a word of no group", 0x00010001],
    ["cbgt w0, w1: a branch of Armv9.6", 0x74010000],
    ["a system register of programs that nobody knows", 0xd53bf0e0],
  ])("is unknown inside a function: %s", async (_text, word) => {
    expect((await code([word])).unknownInstructions).toBe(1);
    expect((await code([word], false)).unknownInstructions).toBe(0);
  });

  it("is a constant where code loads the word from there, as Go's runtime does", async () => {
    // ldr w27, the word behind
    const load = 0x1800003b;
    expect((await code([load, 0x02000028])).unknownInstructions).toBe(0);
    expect((await code([load, 0x02000028, 0x02000028])).unknownInstructions).toBe(1);
  });

  it("of the kernel is passed over, and that which identifies the CPU is a question", async () => {
    // mrs x0, ttbr0_el1; mrs x0, id_aa64isar0_el1
    expect(await code([0xd5382000])).toMatchObject({ features: {}, unknownInstructions: 0, asks: [] });
    expect(await code([0xd5380600])).toMatchObject({ features: {}, asks: ["MRS ID_…"] });
  });

  it("may be data between functions, where a word is no instruction", async () => {
    expect((await code([0xf8200041, 0x00010001], false)).features.atomics).toEqual({
      instructions: 0,
      doubtful: 1,
    });
    expect((await code([0xf8200041], false)).features.atomics).toEqual({ instructions: 1, doubtful: 0 });
  });
});

const compiler = "aarch64-linux-gnu-gcc";

describe(
  "programs with a static runtime of LLVM",
  needs(whyNoCompiler(compiler, "apt-get install gcc-aarch64-linux-gnu")),
  () => {
    /** A shared library of these functions, without its symbols where they are stripped. */
    async function needOf(text: string, ...flags: readonly string[]) {
      const cwd = makeFolder({ "x.S": `.arch armv9-a+sme\n.text\n${text}` });
      execFileSync(compiler, ["-nostdlib", "-shared", ...flags, "x.S", "-o", "x.so"], { cwd });
      const found = await inspectFile(memorySource(readFileSync(join(cwd, "x.so"))), false);
      if (found?.cpu == null) throw new Error("no code");
      return findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] }).features.sme;
    }
    // As in libunwind 22, UnwindRegistersSave.S.
    const zaDisable = `.globl __libunwind_Registers_arm64_za_disable
.type __libunwind_Registers_arm64_za_disable, %function
__libunwind_Registers_arm64_za_disable:
  mrs x16, tpidr2_el0
  cbz x16, 1f
  ldrh w0, [x16, #10]
  cbnz w0, 2f
  ldrh w0, [x16, #8]
  cbz x0, 1f
  ldr x16, [x16]
  mov x15, xzr
0:
  str za[w15, 0], [x16]
  addsvl x16, x16, #1
  add x15, x15, #1
  cmp x0, x15
  b.ne 0b
1:
  msr tpidr2_el0, xzr
  smstop za
  mov x0, xzr
2:
  ret
.size __libunwind_Registers_arm64_za_disable, . - __libunwind_Registers_arm64_za_disable
`;
    const computes = (name: string, ...words: readonly string[]) =>
      `.globl ${name}\n.type ${name}, %function\n${name}:\n${words.map((word) => `  ${word}\n`).join("")}  ret\n.size ${name}, . - ${name}\n`;

    it.each([["with symbols"], ["stripped", "-s"]])("need no SME for it, %s", async (_, ...flags) => {
      expect(await needOf(zaDisable, ...flags)).toBe("mayBeUsed");
    });

    it.each([
      ["starts it", "smstart za"],
      ["starts its streaming mode", "smstart sm"],
      ["starts it by the register", "msr svcr, x0"],
      ["computes with it", "fmopa za0.s, p0/m, p0/m, z0.s, z1.s"],
    ])("need it where their own code %s", async (_, word) => {
      expect(await needOf(zaDisable + computes("gemm", word))).toBe("undecided");
    });
  },
);

/** LLVM knows every system register, by its number; and calls of other exception levels are nobody's feature. */
const isSystem = (word: number) => (word & 0xffc00000) >>> 0 === 0xd5000000 || word >>> 24 === 0xd4;

/** Within a row, or one bit beside it. */
function wordsNear(rows: typeof arm64Rows, count: number, random: (below: number) => number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => {
    const [mask, value] = rows[(index * 7) % rows.length] ?? [0, 0];
    const near = (random(2 ** 32) & ~mask) | value;
    return random(2) === 0 ? near : near ^ (1 << random(32));
  });
}

const whyNo22 = whyNoLlvm("llvm-mc-22");
describe("what is of Armv8.0-A, and what is more", needs(whyNo22), () => {
  const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
  const random = randomFrom(seed, 1);
  const words = [
    ...wordsNear(arm64Rows, 20_000, random),
    ...Array.from({ length: 20_000 }, () => random(2 ** 32)),
  ];
  const asked = Uint32Array.from(words.filter((word) => !isSystem(word)));
  const decode = arm64Decoder();
  const rowOf = (word: number) => decode(word | 0);
  const plain = whyNo22 === null ? knownWords(asked, "+fp-armv8,+neon", "llvm-mc-22") : [];
  const all = whyNo22 === null ? knownWords(asked, "+all", "llvm-mc-22") : [];
  const inHex = (test: (row: number, index: number) => boolean) =>
    [...asked].flatMap((word, index) => (test(rowOf(word), index) ? [word.toString(16)] : []));
  const isPlain = (row: number) => row !== unknownWord && arm64Rows[row]?.[2] === "";

  it(`no word of an extension is taken for one of Armv8.0-A (HOSTILE_SEED=${seed})`, () => {
    expect(inHex((row, index) => isPlain(row) && plain[index] === false && all[index] === true)).toEqual([]);
    expect(plain.filter(Boolean).length).toBeGreaterThan(3000);
  });

  it(`every word of Armv8.0-A is known, and needs nothing (HOSTILE_SEED=${seed})`, () => {
    expect(
      inHex((row, index) => plain[index] === true && !isPlain(row) && !shouldBe(asked[index] ?? 0)),
    ).toEqual([]);
  });

  it(`most of what LLVM does not know is unknown here (HOSTILE_SEED=${seed})`, () => {
    const neither = inHex((_, index) => all[index] === false);
    const known = inHex((row, index) => all[index] === false && row !== unknownWord);
    expect(known.length / neither.length).toBeLessThan(0.1);
  });
});

/** Bits that should be one and are not, which LLVM passes over: loads and stores that are exclusive or ordered, SMULH, UMULH. */
function shouldBe(word: number): boolean {
  return (word & 0x3f000000) === 0x08000000 || (word & 0xff600000) >>> 0 === 0x9b400000;
}

/** Ours → LLVM's, with what LLVM cannot have without it. */
const llvm: Readonly<Record<string, readonly string[]>> = {
  asimddp: ["dotprod"],
  asimdfhm: ["fp16fml"],
  asimdrdm: ["rdm"],
  atomics: ["lse"],
  bf16: ["bf16", "sme", "sme-f64", "sme-i64"],
  crc32: ["crc"],
  fcma: ["complxnum"],
  frint: ["fptoint"],
  i8mm: ["i8mm"],
  ilrcpc: ["rcpc-immo"],
  jscvt: ["jsconv"],
  ls64: ["ls64"],
  svebitperm: ["sve2-bitperm"],
  sveaes: ["sve2-aes"],
  svesha3: ["sve2-sha3"],
  svesm4: ["sve2-sm4"],
  mte: ["mte"],
  mops: ["mops"],
};
/** Features that LLVM has no name for. */
const alsoUnder: Readonly<Record<string, readonly string[]>> = {
  bf16: ["svebf16"],
  i8mm: ["svei8mm"],
  sveaes: ["svepmull"],
};
const everything =
  "aes altnzcv bf16 complxnum crc dotprod f32mm f64mm flagm fp16fml fptoint fullfp16 i8mm jsconv ls64 lse lse2 mops mte neon pauth rand rcpc rcpc-immo rdm sb sha2 sha3 sm4 sme sme-f64 sme-i64 sve sve2 sve2-aes sve2-bitperm sve2-sha3 sve2-sm4".split(
    " ",
  );

const whyNo14 = whyNoLlvm("llvm-mc");
describe("each feature of the table against LLVM", needs(whyNo14), () => {
  const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
  const random = randomFrom(seed, 0);
  // LS64 has few rows, and most registers are none of its own: chance alone may take no word of it.
  const own = Object.keys(llvm).flatMap((feature) => {
    const rows = arm64Rows.filter(([, , names]) => names.split(" ").includes(feature));
    return Array.from({ length: 64 }, (_, index) => {
      const [mask, value] = rows[index % rows.length] ?? [0, 0];
      return ((random(2 ** 32) & ~mask) | value) >>> 0;
    });
  });
  const words = Uint32Array.from([...wordsNear(arm64Rows, 8000, random), ...own]).filter(
    (word) => !isSystem(word),
  );
  const known = whyNo14 === null ? knownWords(words, everything.map((name) => `+${name}`).join(",")) : [];

  it.each(Object.entries(llvm))(`%s (HOSTILE_SEED=${seed})`, async (feature, names) => {
    const attributes = everything.map((name) => `${names.includes(name) ? "-" : "+"}${name}`).join(",");
    const without = knownWords(words, attributes);
    const wrong: string[] = [];
    let needed = 0;
    for (const [index, word] of words.entries()) {
      if (!known[index]) continue;
      const features = Object.keys((await code([word])).features);
      // LLVM 14 takes for one with SME what came with SVE2.1, and the group of SME stands for all that is in it.
      if (features.includes("sme") || features.includes("sve2p1") || features.length === 0) continue;
      if (!without[index]) needed++;
      const needs = [feature, ...(alsoUnder[feature] ?? [])].some((each) => features.includes(each));
      if (!without[index] !== needs) wrong.push(word.toString(16));
    }
    expect(wrong).toEqual([]);
    expect(needed).toBeGreaterThan(0);
  });
});
