/** CPU features: the names of Linux and of compilers, and which features depend on each. */

/**
 * Features that a `-march` implies and that no computing code needs. BIOS and hypervisors often hide them, so a requirement would
 * turn working machines away.
 */
export const neverNeededFeatures: ReadonlySet<string> = new Set([
  // Management, virtualisation and security features of x86 without an instruction that computes.
  ..."clzero enqcmd fsgsbase hreset invpcid kl lwp mwaitx pconfig pku rdpru sgx uintr user_shstk usermsr wbnoinvd widekl".split(
    " ",
  ),
  // Transactional memory: hidden by microcode; HLE prefixes are ignored by a CPU without HLE.
  "hle",
  "rtm",
  // Hints: ptwrite is for tracing, the others execute as no-ops where they are unknown (Intel SDM; Arm ARM for BTI).
  "bti",
  "cldemote",
  "prefetchi",
  "ptwrite",
  // TPAUSE, SERIALIZE and XSUSLDTRK raise #UD where CPUID does not name them (Intel SDM). Compilers emit these instructions for intrinsics alone.
  // Programs with them ask first (DPDK rte_cpu_get_intrinsics_support, oneTBB governor.h, Linux sync_core.h). Hypervisors hide them.
  "serialize",
  "tsxldtrk",
  "waitpkg",
  // XSAVES raises #GP outside the kernel (Intel SDM), and kernels before 4.x do not print it.
  "xsaves",
  // A process must ask the kernel for tagging (prctl) before a tag means anything, so it looks at HWCAP2_MTE first.
  "mte",
  // Timing that does not depend on data: programs set the bit PSTATE.DIT after a look at HWCAP_DIT, and no compiler does
  // (Arm ARM, FEAT_DIT; Linux, Documentation/arch/arm64/elf_hwcaps.rst). Azure's Cobalt 100 prints none.
  "dit",
  // Speculation control, which the kernel hides from programs on Neoverse and Cortex cores whose erratum makes it useless
  // (Linux 6.10 and the stable branches: Documentation/arch/arm64/silicon-errata.rst, ARM64_ERRATUM_3194386).
  "ssbs",
  // LD64B and ST64B reach memory of devices that take 64 bytes at once, and no other (Arm ARM, FEAT_LS64).
  "ls64",
  // RISC-V hints, which execute as no-ops elsewhere, and a promise about timing (ISA manual: Zihintpause, Zihintntl, Zicbop, Zkt).
  ..."zicbop zihintntl zihintpause zkt zvkt".split(" "),
  // Properties of memory without an instruction of their own, which Linux does not run without or, the block size, tells by
  // hwprobe (RVA22 profile; Documentation/arch/riscv/hwprobe.rst).
  ..."za128rs za64rs zic64b ziccamoa ziccif zicclsm ziccrse".split(" "),
  // Pointer masking: a process must ask the kernel for it (prctl).
  "supm",
]);

/** Every x86-64 compiler and every x86-64 Linux takes these for granted: no option removes them. */
export const x86Baseline: ReadonlySet<string> = new Set(
  "cmov cx8 fpu fxsr lm mmx sse sse2 syscall".split(" "),
);

/** Linux name → name of the `-m` option of gcc and clang, where they differ. */
const x86Options: Readonly<Record<string, string>> = {
  ...respelled("amx_bf16 amx_complex amx_fp16 amx_int8 amx_tile", "-"),
  ...respelled(
    `avx512_4fmaps avx512_4vnniw avx512_bf16 avx512_bitalg avx512_fp16 avx512_vbmi2 avx512_vnni
    avx512_vp2intersect avx512_vpopcntdq avx_ifma avx_ne_convert avx_vnni avx_vnni_int16 avx_vnni_int8`,
    "",
  ),
  "3dnowext": "3dnowa",
  "3dnowprefetch": "prfchw",
  abm: "lzcnt",
  bmi1: "bmi",
  lahf_lm: "sahf",
  pclmulqdq: "pclmul",
  pni: "sse3",
  rdrand: "rdrnd",
  sha_ni: "sha",
  sse4_1: "sse4.1",
  sse4_2: "sse4.2",
  user_shstk: "shstk",
};

function respelled(names: string, lowLine: string): Record<string, string> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, name.replaceAll("_", lowLine)]));
}

/**
 * Arm: extension of `-march`/`-mcpu` → the Linux names that come with it. Only what an extension names can be left out, and
 * only where gcc and clang agree on the name: asimdrdm is `rdma` to gcc, and clang keeps its macro with `+nordma`.
 */
const armExtensions: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries("bf16 cssc flagm i8mm rng sb ssbs sve sve2".split(" ").map((name) => [name, [name]])),
  crc: ["crc32"],
  // One extension for both: gcc keeps AES with `+noaes` on cores that it knows as `+crypto`.
  crypto: ["aes", "pmull", "sha1", "sha2"],
  dotprod: ["asimddp"],
  fp16: ["fphp", "asimdhp"],
  fp16fml: ["asimdfhm"],
  lse: ["atomics"],
  memtag: ["mte"],
  pauth: ["paca", "pacg"],
  rcpc: ["lrcpc"],
  sha3: ["sha3", "sha512"],
  sm4: ["sm3", "sm4"],
  // Includes everything that is built on it, as in clang.
  sme: ["sme", "sme2", "sme2p1", "smeb16b16", "smef16f16", "smef64f64", "smei16i64"],
  "sve2-bitperm": ["svebitperm"],
};

/** Feature → the direct dependents: gcc and clang both switch them off with the feature (the inverse of the compilers' "implies" tables). */
const x86Dependents: Readonly<Record<string, readonly string[]>> = {
  "3dnow": ["3dnowext"],
  avx: ["avx2", "f16c", "fma", "fma4"],
  avx2: ["avx512f", "avx_ifma", "avx_ne_convert", "avx_vnni", "avx_vnni_int16", "avx_vnni_int8"],
  avx512bw: ["avx512_bf16", "avx512_fp16", "avx512vbmi"],
  avx512f:
    "avx512_bitalg avx512_vbmi2 avx512_vnni avx512_vp2intersect avx512_vpopcntdq avx512bw avx512cd avx512dq avx512er avx512ifma avx512pf avx512vl".split(
      " ",
    ),
  fma4: ["xop"],
  pni: ["sse4a", "ssse3"],
  sse4_1: ["sse4_2"],
  sse4_2: ["avx"],
  sse4a: ["fma4"],
  ssse3: ["sse4_1"],
  // gcc also drops AVX with xsave; clang does not, so that AVX stays required.
  xsave: ["xsavec", "xsaveopt", "xsaves"],
};

const armDependents: Readonly<Record<string, readonly string[]>> = {
  fp16: ["fp16fml", "sve"],
  sve: ["sve2"],
  sve2: ["sve2-bitperm"],
};

/** The `-m` option of a Linux feature name, without `-m` or `-mno-`. */
export function x86OptionName(feature: string): string {
  return x86Options[feature] ?? feature;
}

/** Names that people know beside Linux's (Linux, arch/x86/include/asm/cpufeatures.h; Documentation/arch/arm64/elf_hwcaps.rst). */
const knownNames: Readonly<Record<string, string>> = {
  "3dnowprefetch": "PREFETCHW",
  abm: "LZCNT",
  asimd: "NEON",
  asimddp: "DotProd",
  asimdhp: "FP16",
  asimdrdm: "RDM",
  atomics: "LSE",
  cx16: "CMPXCHG16B",
  fphp: "FP16",
  lahf_lm: "LAHF",
  lrcpc: "RCpc",
  pni: "SSE3",
  sha_ni: "SHA",
  uscat: "LSE2",
};

/** `pni (SSE3)`: a feature as a text for people has it. JSON and locks have the name of Linux alone. */
export function toldFeature(feature: string): string {
  return Object.hasOwn(knownNames, feature) ? `${feature} (${knownNames[feature]})` : feature;
}

/** The Linux name of a feature that is given by either name. */
export function linuxName(name: string): string {
  return linuxNames.get(name) ?? name;
}

/** The Arm extension that a name belongs to, which may be the extension itself or a Linux name; null when none does. */
export function armExtension(name: string): string | null {
  if (Object.hasOwn(armExtensions, name)) return name;
  const found = Object.entries(armExtensions).find(([, features]) => features.includes(name));
  return found?.[0] ?? null;
}

/** The Linux names of an Arm extension, and of all extensions built on the extension. Leaving out the extension removes them all. */
export function withoutArmExtension(extension: string): readonly string[] {
  return closure(extension, armDependents).flatMap((name) => armExtensions[name] ?? []);
}

/** The Linux names that leaving out one x86 feature removes, itself first. */
export function withoutX86Feature(feature: string): readonly string[] {
  return closure(feature, x86Dependents);
}

/** Adds the features that these are built on, and sorts: a CPU with AVX2 has AVX and SSE4.2. */
export function withImplied(features: readonly string[]): readonly string[] {
  const isBase = (dependents: readonly string[]) => features.some((each) => dependents.includes(each));
  const x86 = Object.keys(x86Dependents).filter((name) => isBase(withoutX86Feature(name)));
  const arm = Object.keys(armDependents).filter((name) => isBase(withoutArmExtension(name)));
  return [...new Set([...features, ...x86, ...arm.flatMap((name) => armExtensions[name] ?? [])])].sort();
}

const linuxNames: ReadonlyMap<string, string> = new Map(
  Object.entries(x86Options).map(([linux, option]) => [option, linux]),
);

function closure(name: string, dependents: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const found = new Set([name]);
  // A Set is iterated in insertion order and sees what is added on the way.
  for (const each of found) for (const next of dependents[each] ?? []) found.add(next);
  return [...found];
}

/**
 * Features that some machines hide although the CPU has them, by the captures of archspec (tests/targets/) and EESSI: `rdpid` on Azure, the
 * Arm ones on Grace, Axion and other clouds. Compilers emit them only where the source names them. A CPU is known by what remains.
 */
export const guestHiddenFeatures: ReadonlySet<string> = new Set(
  "dit paca pacg rdpid rng svebitperm".split(" "),
);
