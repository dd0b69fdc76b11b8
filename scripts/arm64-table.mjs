/**
 * Writes src/inspect/cpu/arm64-*.json from LLVM's description of AArch64:
 *
 *     llvm-tblgen --dump-json -I llvm/include -I llvm/lib/Target/AArch64 llvm/lib/Target/AArch64/AArch64.td > aarch64.json
 *     node scripts/arm64-table.mjs aarch64.json
 *
 * Takes over the fixed bits of an encoding, the features that LLVM demands for it, and the mnemonic.
 */

import { readFileSync, writeFileSync } from "node:fs";

/** LLVM's predicate → Linux's name (`Documentation/arch/arm64/elf_hwcaps.rst`), or Arm's where Linux has none. */
const names = {
  HasNEON: "",
  HasFPARMv8: "",
  HasNEONandIsStreamingSafe: "",
  // For kernels and hypervisors.
  HasEL3: "",
  HasXS: "xs",
  HasAES: "aes",
  HasAltNZCV: "flagm2",
  HasB16B16: "sveb16b16",
  HasBF16: "bf16",
  HasCPA: "cpa",
  HasCRC: "crc32",
  HasCSSC: "cssc",
  HasComplxNum: "fcma",
  HasD128: "d128",
  HasDotProd: "asimddp",
  HasFAMINMAX: "faminmax",
  HasFP16FML: "asimdfhm",
  HasFP8: "f8cvt",
  HasFP8DOT2: "f8dp2",
  HasFP8DOT4: "f8dp4",
  HasFP8FMA: "f8fma",
  HasFRInt3264: "frint",
  HasFlagM: "flagm",
  HasFullFP16: "asimdhp",
  HasGCS: "gcs",
  HasHBC: "hbc",
  HasJS: "jscvt",
  HasLOR: "lor",
  HasLS64: "ls64",
  HasLSE: "atomics",
  HasLSE128: "lse128",
  HasLUT: "lut",
  HasMOPS: "mops",
  HasMTE: "mte",
  HasMatMulFP32: "svef32mm",
  HasMatMulFP64: "svef64mm",
  HasMatMulInt8: "i8mm",
  HasPAuth: "paca",
  HasPAuthLR: "pauth_lr",
  HasRCPC: "lrcpc",
  HasRCPC3: "lrcpc3",
  HasRCPC_IMMO: "ilrcpc",
  HasRDM: "asimdrdm",
  HasSB: "sb",
  HasSHA2: "sha2",
  HasSHA3: "sha3",
  HasSM4: "sm4",
  HasSSVE_FP8DOT2: "f8dp2",
  HasSSVE_FP8DOT4: "f8dp4",
  HasSSVE_FP8FMA: "f8fma",
  HasSVE: "sve",
  HasSVE2: "sve2",
  HasSVE2AES: "sveaes",
  HasSVE2BitPerm: "svebitperm",
  HasSVE2SHA3: "svesha3",
  HasSVE2SM4: "svesm4",
  HasSVE2orSME: "sve2",
  HasSVE2orSME2: "sve2",
  HasSVE2p1: "sve2p1",
  HasSVE2p1_or_HasSME: "sve2p1",
  HasSVE2p1_or_HasSME2: "sve2p1",
  HasSVE2p1_or_HasSME2p1: "sve2p1",
  HasSVEorSME: "sve",
  HasSMEandIsNonStreamingSafe: "sme",
  HasSME2andIsNonStreamingSafe: "sme",
  HasTHE: "the",
  HasTME: "tme",
  HasWFxT: "wfxt",
};

/** `arm64-system.json` lists system registers and instructions by hand. */
const bySystemTable =
  /^(MSR|MRS|SYSxt|SYSLxt|SYSPxt\w*|MRRS|MSRR|MSRpstate.*|BRB_.*|TRCIT|TSB|GCS(PUSHM|SS1|SS2|POPM|POPX|POPCX|PUSHX)|UDF)$/;
/** The whole group of SME is one row there (C4.1). */
const isSme = (value) => (value & 0x9e000000) >>> 0 === 0x80000000;

function featuresOf(record) {
  const predicates = record.Predicates.map(({ def }) => def);
  const found = new Set(predicates.map((each) => names[each] ?? unknown(each)).filter(Boolean));
  const name = record["!name"].toUpperCase();
  const isSve = found.has("sve") || found.has("sve2");
  const only = (feature) => found.size === 1 && found.has(feature);
  if (found.has("asimdhp") && !predicates.some((each) => each.startsWith("HasNEON")))
    rename(found, "asimdhp", "fphp");
  if (only("aes") && name.startsWith("PMULL")) return "pmull";
  if (only("sveaes") && name.includes("PMULL")) return "svepmull";
  if (only("sha2") && name.startsWith("SHA1")) return "sha1";
  if (only("sha3") && name.startsWith("SHA512")) return "sha512";
  if (only("sm4") && name.startsWith("SM3")) return "sm3";
  if (name === "PACGA") return "pacg";
  for (const feature of ["svef64mm", "svef32mm", "sveb16b16", "jscvt"])
    if (found.has(feature)) return feature;
  for (const feature of ["i8mm", "bf16"]) if (found.has(feature) && isSve) return `sve${feature}`;
  return [...found].sort().join(" ");
}

function rename(set, from, to) {
  set.delete(from);
  set.add(to);
}

function unknown(predicate) {
  throw new Error(`no name for ${predicate}`);
}

/** Instructions with bits that LLVM leaves open and Arm prints as `(1)`. Compilers set them. */
const shouldBeOne = /^(LDA?XP|STL?XR|[SU]MULH)/;

function cubesOf({ Inst, "!name": name }) {
  let mask = 0;
  let value = 0;
  for (const [bit, content] of Inst.entries()) {
    const isFixed = content === 0 || content === 1 || (content === null && shouldBeOne.test(name));
    if (!isFixed) continue;
    mask |= 1 << bit;
    value |= (content ?? 1) << bit;
  }
  return unallocated
    .filter(([names]) => names.test(name))
    .reduce(
      (cubes, [, ...allowed]) =>
        cubes.flatMap((cube) =>
          allowed.map(([more, bits]) => ({
            mask: (cube.mask | more) >>> 0,
            value: (cube.value | bits) >>> 0,
          })),
        ),
      [{ mask: mask >>> 0, value: value >>> 0 }],
    );
}

/** Encodings that LLVM refuses in code: names of instructions, and mask and value of each part that exists (DDI 0487, C4.1). */
const unallocated = [
  // A shift of an immediate by 0 or 12.
  [/^(ADD|SUB)S?[WX]ri$/, [0x800000, 0]],
  // 32-bit registers are shifted by less than 32, and sums never rotated.
  [/^[A-Z]+Wrs$/, [0x8000, 0]],
  [/^(ADD|SUB)S?[WX]rs$/, [0x800000, 0], [0xc00000, 0x800000]],
  // Extended registers are shifted by at most 4.
  [/^(ADD|SUB)S?[WX]rx(64)?$/, [0x1000, 0], [0x1c00, 0x1000]],
  // 16 bits of a 32-bit register.
  [/^MOV[NZK]Wi$/, [0x400000, 0]],
];

const bits = (mask) => mask.toString(2).replaceAll("0", "").length;
/** Fewer rows with the same meaning: joins two rows that differ in one bit, and drops rows that another covers. */
function merged(cubes) {
  const byMask = new Map();
  const at = (mask) => byMask.get(mask) ?? byMask.set(mask, new Map()).get(mask);
  for (const { mask, value, mnemonic } of cubes) join(at(mask), value, [mnemonic]);
  for (let changed = true; changed; ) {
    changed = false;
    for (const mask of [...byMask.keys()].sort((a, b) => bits(a) - bits(b) || a - b)) {
      changed = absorb(byMask, mask) || changed;
      changed = halve(byMask, mask, at) || changed;
    }
  }
  return [...byMask].flatMap(([mask, values]) =>
    [...values].map(([value, mnemonics]) => ({ mask, value, mnemonics })),
  );
}

function join(values, value, mnemonics) {
  values.set(value, [...new Set([...(values.get(value) ?? []), ...mnemonics])]);
}

function absorb(byMask, mask) {
  let changed = false;
  for (const [wider, values] of byMask) {
    if (wider === mask || (wider & mask) >>> 0 !== wider) continue;
    for (const [value, mnemonics] of [...byMask.get(mask)]) {
      const inside = (value & wider) >>> 0;
      if (!values.has(inside)) continue;
      join(values, inside, mnemonics);
      byMask.get(mask).delete(value);
      changed = true;
    }
  }
  return changed;
}

function halve(byMask, mask, at) {
  const values = byMask.get(mask);
  for (let changed = false; ; changed = true) {
    let best = { count: 0, bit: 0 };
    for (let bit = 1; bit >>> 0 !== 0; bit <<= 1) {
      if ((mask & bit) === 0) continue;
      let count = 0;
      for (const value of values.keys()) if ((value & bit) === 0 && values.has((value | bit) >>> 0)) count++;
      if (count > best.count) best = { count, bit };
    }
    if (best.count === 0) return changed;
    for (const [value, mnemonics] of [...values]) {
      const other = (value | best.bit) >>> 0;
      if ((value & best.bit) !== 0 || !values.has(other)) continue;
      join(at((mask & ~best.bit) >>> 0), value, [...mnemonics, ...values.get(other)]);
      values.delete(value);
      values.delete(other);
    }
  }
}

/** Still fewer rows, which may overlap: joins two where some row has every word of both, and drops rows that others cover together. */
function joined(rows) {
  let left = [...rows];
  const tried = new Map();
  const between = (one, other) => {
    const key = [one, other].map(({ mask, value }) => `${mask} ${value}`).join();
    if (!tried.has(key)) tried.set(key, spanOf(one, other, rows));
    return tried.get(key);
  };
  for (;;) {
    const spans = left.flatMap((one, at) => left.slice(at + 1).flatMap((other) => between(one, other) ?? []));
    const inside = (span) => left.filter((row) => holds(span, row));
    const best = spans
      .map((span) => ({ span, count: inside(span).length }))
      .sort((a, b) => b.count - a.count || bits(a.span.mask) - bits(b.span.mask))[0]?.span;
    if (best === undefined) break;
    const mnemonics = [...new Set(inside(best).flatMap((row) => row.mnemonics))];
    const others = left.filter((row) => !holds(best, row));
    left = [...others, { ...best, mnemonics }].sort((a, b) => a.value - b.value);
  }
  for (const row of [...left].sort((a, b) => bits(b.mask) - bits(a.mask) || a.value - b.value)) {
    const others = left.filter((each) => each !== row);
    if (isCovered(row, others)) left = others;
  }
  return left;
}

/** The smallest row with the words of both; null if it also has words that no row has. */
function spanOf(one, other, rows) {
  const mask = (one.mask & other.mask & ~(one.value ^ other.value)) >>> 0;
  const span = { mask, value: (one.value & mask) >>> 0 };
  return isCovered(span, rows) ? span : null;
}

const meets = (one, other) => ((one.value ^ other.value) & one.mask & other.mask) === 0;
const holds = (wide, row) => (wide.mask & ~row.mask) === 0 && meets(wide, row);

/** True if other rows have every word of this row. Halves the row by the bit that most of them fix. */
function isCovered(row, others) {
  const near = others.filter((other) => meets(row, other));
  if (near.some((other) => holds(other, row))) return true;
  if (near.length === 0) return false;
  const open = Array.from({ length: 32 }, (_, index) => (1 << index) >>> 0).filter(
    (bit) => !(row.mask & bit),
  );
  const telling = (bit) => near.filter(({ mask }) => mask & bit).length;
  const bit = open.reduce((best, each) => (telling(each) > telling(best) ? each : best));
  const half = { mask: (row.mask | bit) >>> 0, value: row.value };
  return isCovered(half, near) && isCovered({ ...half, value: (row.value | bit) >>> 0 }, near);
}

const llvm = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const byFeature = new Map();
for (const name of llvm["!instanceof"].Instruction) {
  const record = llvm[name];
  if (record.isPseudo || record.isCodeGenOnly || record.Size !== 4 || record.Namespace !== "AArch64")
    continue;
  if (!Array.isArray(record.Inst) || bySystemTable.test(name)) continue;
  const cubes = cubesOf(record);
  if (cubes.some(({ value }) => isSme(value))) continue;
  const feature = featuresOf(record);
  const mnemonic = record.AsmString.split(/[\t{ ]/)[0].replace(/\.$/, "");
  if (!byFeature.has(feature)) byFeature.set(feature, []);
  byFeature.get(feature).push(...cubes.map((cube) => ({ ...cube, mnemonic })));
}

const hex = (number) => `0x${number.toString(16).padStart(8, "0")}`;
function write(file, about, isHere) {
  const lines = [];
  for (const feature of [...byFeature.keys()].filter(isHere).sort()) {
    const rows = merged(byFeature.get(feature)).sort((a, b) => a.value - b.value);
    for (const { mask, value, mnemonics } of joined(rows)) {
      const some = mnemonics.length > 6 ? [...mnemonics.slice(0, 5), "…"] : mnemonics;
      lines.push(`    ["${hex(mask)}", "${hex(value)}", "${feature}", "${some.join(" ")}"]`);
    }
  }
  const source =
    "[mask, value, features, the first of the instructions], written by scripts/arm64-table.mjs from LLVM 19.1 (Apache-2.0 WITH LLVM-exception), llvm/lib/Target/AArch64/*.td. They are described in Arm's DDI 0487, C6 to C9.";
  const text = `{\n  "about": ${JSON.stringify(`${about} ${source}`)},\n  "rows": [\n${lines.join(",\n")}\n  ]\n}\n`;
  writeFileSync(new URL(`../src/inspect/cpu/${file}`, import.meta.url), text);
  console.log(file, lines.length);
}
const isSve = (feature) => /(^| )sve/.test(feature);
write(
  "arm64-base.json",
  "AArch64 instructions that every CPU of Armv8.0-A with floating point and Advanced SIMD executes.",
  (each) => each === "",
);
write(
  "arm64-features.json",
  "AArch64 instructions beyond Armv8.0-A, without SVE and SME.",
  (each) => each !== "" && !isSve(each),
);
write("arm64-sve.json", "AArch64 instructions of SVE and its extensions.", isSve);
