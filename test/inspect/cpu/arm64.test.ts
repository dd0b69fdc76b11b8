import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readArm64Code } from "../../../src/inspect/cpu/arm64-code.ts";
import { arm64Rows } from "../../../src/inspect/cpu/arm64-table.ts";
import { randomFrom } from "../../hostile/mutate.ts";
import { needs } from "../../support/needs.ts";
import { hasLlvm, knownWords } from "../support/arm64-oracle.ts";

function code(words: readonly number[], isFunction = true) {
  const bytes = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word >>> 0, index * 4);
  return readArm64Code(memorySource(bytes), [{ offset: 0, size: bytes.length, isFunction }]);
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

  it("cannot tell the parts of SVE apart, and says so", async () => {
    const { features } = await code([0x04a20020]);
    expect(features.sve).toEqual({ instructions: 1, doubtful: 0 });
    expect(features.sve2).toEqual({ instructions: 0, doubtful: 1 });
  });

  it("may be data between functions, where a word is no instruction", async () => {
    expect((await code([0xf8200041, 0x00000001], false)).features.atomics).toEqual({
      instructions: 0,
      doubtful: 1,
    });
    expect((await code([0xf8200041], false)).features.atomics).toEqual({ instructions: 1, doubtful: 0 });
  });
});

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
  mte: ["mte"],
  mops: ["mops"],
};
const everything =
  "aes altnzcv bf16 complxnum crc dotprod f32mm f64mm flagm fp16fml fptoint fullfp16 i8mm jsconv ls64 lse lse2 mops mte neon pauth rand rcpc rcpc-immo rdm sb sha2 sha3 sm4 sme sme-f64 sme-i64 sve sve2 sve2-aes sve2-bitperm sve2-sha3 sve2-sm4".split(
    " ",
  );

describe("the table against LLVM", needs(hasLlvm ? null : "no llvm-mc (apt-get install llvm)"), () => {
  const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
  const random = randomFrom(seed, 0);
  const words = Uint32Array.from({ length: 6000 }, (_, index) => {
    const [mask, value] = arm64Rows[index % arm64Rows.length] ?? [0, 0];
    // Within a row, or one bit beside it.
    const near = (random(2 ** 32) & ~mask) | value;
    return index % 2 === 0 ? near : near ^ (1 << random(32));
  });
  const known = hasLlvm ? knownWords(words, everything.map((name) => `+${name}`).join(",")) : [];

  it.each(Object.entries(llvm))(`%s (HOSTILE_SEED=${seed})`, async (feature, names) => {
    const attributes = everything.map((name) => `${names.includes(name) ? "-" : "+"}${name}`).join(",");
    const without = knownWords(words, attributes);
    const wrong: string[] = [];
    let needed = 0;
    for (const [index, word] of words.entries()) {
      if (!known[index]) continue;
      const features = Object.keys((await code([word])).features);
      // The groups of SVE and SME stand for all that is in them.
      if (features.includes("sve") || features.includes("sme")) continue;
      if (!without[index]) needed++;
      if (!without[index] !== features.includes(feature)) wrong.push(word.toString(16));
    }
    expect(wrong).toEqual([]);
    expect(needed).toBeGreaterThan(0);
  });
});
