/**
 * The names under which Node Feature Discovery labels CPU features (`feature.node.kubernetes.io/cpu-cpuid.…`) and the names that
 * Linux has for them.
 *
 * Sources: klauspost/cpuid v2, cpuid.go (`FeatureID` and, by its tags, when each was added); kubernetes-sigs/node-feature-discovery
 * 76e6cc8c, source/cpu/cpu.go (`AttributeBlacklist`, `microarchLevelFlags`), cpuid_linux_arm64.go and cpuid_linux_ppc64le.go.
 */

export interface LabelledFeature {
  readonly linux: string;
  /**
   * `always`: every release from NFD 0.8 (klauspost/cpuid 2.0.2) on labels it where the CPU has it, so no label means no feature.
   * `newer`: later releases only. `blocked`: the default configuration leaves it out. For both, no label means nothing.
   */
  readonly labelled: "always" | "newer" | "blocked";
}

const x86Always: Readonly<Record<string, string>> = {
  ADX: "adx",
  AESNI: "aes",
  AMD3DNOW: "3dnow",
  AMD3DNOWEXT: "3dnowext",
  AMXBF16: "amx_bf16",
  AMXINT8: "amx_int8",
  AMXTILE: "amx_tile",
  AVX: "avx",
  AVX2: "avx2",
  AVX512BF16: "avx512_bf16",
  AVX512BITALG: "avx512_bitalg",
  AVX512BW: "avx512bw",
  AVX512CD: "avx512cd",
  AVX512DQ: "avx512dq",
  AVX512ER: "avx512er",
  AVX512F: "avx512f",
  AVX512IFMA: "avx512ifma",
  AVX512PF: "avx512pf",
  AVX512VBMI: "avx512vbmi",
  AVX512VBMI2: "avx512_vbmi2",
  AVX512VL: "avx512vl",
  AVX512VNNI: "avx512_vnni",
  AVX512VP2INTERSECT: "avx512_vp2intersect",
  AVX512VPOPCNTDQ: "avx512_vpopcntdq",
  FMA3: "fma",
  FMA4: "fma4",
  GFNI: "gfni",
  HYPERVISOR: "hypervisor",
  MOVDIR64B: "movdir64b",
  MOVDIRI: "movdiri",
  SERIALIZE: "serialize",
  SHA: "sha_ni",
  SSE4A: "sse4a",
  TBM: "tbm",
  TSXLDTRK: "tsxldtrk",
  VAES: "vaes",
  VPCLMULQDQ: "vpclmulqdq",
  WAITPKG: "waitpkg",
  XOP: "xop",
};

const x86Newer: Readonly<Record<string, string>> = {
  AMXCOMPLEX: "amx_complex",
  AMXFP16: "amx_fp16",
  AVX512FP16: "avx512_fp16",
  AVXIFMA: "avx_ifma",
  AVXNECONVERT: "avx_ne_convert",
  AVXVNNI: "avx_vnni",
  AVXVNNIINT16: "avx_vnni_int16",
  AVXVNNIINT8: "avx_vnni_int8",
  CMPCCXADD: "cmpccxadd",
  CMPXCHG8: "cx8",
  FXSR: "fxsr",
  LAHF: "lahf_lm",
  MOVBE: "movbe",
  SYSCALL: "syscall",
  X87: "fpu",
  XSAVE: "xsave",
  XSAVEC: "xsavec",
  XSAVEOPT: "xsaveopt",
};

const x86Blocked: Readonly<Record<string, string>> = {
  BMI1: "bmi1",
  BMI2: "bmi2",
  CLMUL: "pclmulqdq",
  CMOV: "cmov",
  CX16: "cx16",
  F16C: "f16c",
  LZCNT: "abm",
  MMX: "mmx",
  POPCNT: "popcnt",
  RDRAND: "rdrand",
  RDSEED: "rdseed",
  SSE: "sse",
  SSE2: "sse2",
  SSE3: "pni",
  SSE4: "sse4_1",
  SSE42: "sse4_2",
  SSSE3: "ssse3",
};

/** The first words of AT_HWCAP, in lower case what Linux prints. Words added later, and AT_HWCAP2, depend on the release. */
const armAlways =
  "FP ASIMD EVTSTRM AES PMULL SHA1 SHA2 CRC32 ATOMICS FPHP ASIMDHP CPUID ASIMDRDM JSCVT FCMA LRCPC DCPOP SHA3 SM3 SM4 ASIMDDP SHA512 SVE ASIMDFHM";

/** ISA level of AT_HWCAP and AT_HWCAP2 → the generation that brought it, which runs the code of all before it. */
export const powerLevels: Readonly<Record<string, number>> = {
  ARCH_2_06: 7,
  ARCH_2_07: 8,
  ARCH_3_00: 9,
  ARCH_3_1: 10,
};

/** Newer releases add the psABI levels, which klauspost/cpuid works out from every feature of the level. */
export const x86LevelLabels: Readonly<Record<string, string>> = {
  X86_64_V1: "x86-64",
  X86_64_V2: "x86-64-v2",
  X86_64_V3: "x86-64-v3",
  X86_64_V4: "x86-64-v4",
};

/** Label name (`AVX512VNNI`) → feature; null for a name that no image asks for. */
export function labelledFeature(name: string, architecture: string): LabelledFeature | null {
  const known = tableOf(architecture).get(name);
  if (known !== undefined) return known;
  return architecture === "arm64" ? { linux: name.toLowerCase(), labelled: "newer" } : null;
}

/** The Linux names that the default configuration of Node Feature Discovery leaves out. */
export function blockedByDefault(architecture: string): ReadonlySet<string> {
  return namesOf(architecture, "blocked");
}

/** The Linux names whose absence among the labels proves that the CPU does not have them. */
export function alwaysLabelled(architecture: string): ReadonlySet<string> {
  return namesOf(architecture, "always");
}

function namesOf(architecture: string, how: LabelledFeature["labelled"]): ReadonlySet<string> {
  const found = [...tableOf(architecture).values()].filter(({ labelled }) => labelled === how);
  return new Set(found.map(({ linux }) => linux));
}

/** The architecture is a label too, and may have the name of something every object has. */
function tableOf(architecture: string): ReadonlyMap<string, LabelledFeature> {
  return (Object.hasOwn(tables, architecture) ? tables[architecture] : undefined) ?? new Map();
}

const tables: Readonly<Record<string, ReadonlyMap<string, LabelledFeature>>> = {
  amd64: new Map([...rows(x86Always, "always"), ...rows(x86Newer, "newer"), ...rows(x86Blocked, "blocked")]),
  arm64: new Map(
    rows(Object.fromEntries(armAlways.split(" ").map((name) => [name, name.toLowerCase()])), "always"),
  ),
};

function rows(
  names: Readonly<Record<string, string>>,
  labelled: LabelledFeature["labelled"],
): [string, LabelledFeature][] {
  return Object.entries(names).map(([name, linux]) => [name, { linux, labelled }]);
}
