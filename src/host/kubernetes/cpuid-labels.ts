/**
 * Translates the names of Node Feature Discovery's CPU labels (`feature.node.kubernetes.io/cpu-cpuid.…`) into Linux names.
 *
 * Sources: klauspost/cpuid v2, cpuid.go (`FeatureID` and, by its tags, when each was added); kubernetes-sigs/node-feature-discovery
 * 76e6cc8c, source/cpu/cpu.go (`AttributeBlacklist`, `microarchLevelFlags`), cpuid_linux_arm64.go and cpuid_linux_ppc64le.go.
 */

/**
 * Linux names. `always`: every release from NFD 0.8 (klauspost/cpuid 2.0.2) on labels it where the CPU has it, so no label means no feature.
 * `newer`: later releases only. `blocked`: the default configuration leaves it out. For both, no label means nothing.
 */
const x86Labels = {
  always:
    words(`3dnow 3dnowext adx aes amx_bf16 amx_int8 amx_tile avx avx2 avx512_bf16 avx512_bitalg avx512_vbmi2 avx512_vnni
    avx512_vp2intersect avx512_vpopcntdq avx512bw avx512cd avx512dq avx512er avx512f avx512ifma avx512pf avx512vbmi
    avx512vl fma fma4 gfni hypervisor movdir64b movdiri serialize sha_ni sse4a tbm tsxldtrk vaes vpclmulqdq waitpkg
    xop`),
  newer:
    words(`amx_complex amx_fp16 avx512_fp16 avx_ifma avx_ne_convert avx_vnni avx_vnni_int16 avx_vnni_int8 cmpccxadd cx8 fpu
    fxsr lahf_lm movbe syscall xsave xsavec xsaveopt`),
  blocked: words(
    `abm bmi1 bmi2 cmov cx16 f16c mmx pclmulqdq pni popcnt rdrand rdseed sse sse2 sse4_1 sse4_2 ssse3`,
  ),
};

/** Labels are the Linux names in capitals and without low lines, but for these. */
const ownNames: Readonly<Record<string, string>> = {
  "3dnow": "AMD3DNOW",
  "3dnowext": "AMD3DNOWEXT",
  abm: "LZCNT",
  aes: "AESNI",
  cx8: "CMPXCHG8",
  fma: "FMA3",
  fpu: "X87",
  lahf_lm: "LAHF",
  pclmulqdq: "CLMUL",
  pni: "SSE3",
  sha_ni: "SHA",
  sse4_1: "SSE4",
};

/** The first words of AT_HWCAP, in lower case as Linux prints them. Words added later, and AT_HWCAP2, depend on the release. */
const armAlways = words(
  "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve asimdfhm",
);

/** ISA level of AT_HWCAP and AT_HWCAP2 → the generation that brought the level. A generation runs the code of all earlier generations. */
export const powerLevels: Readonly<Record<string, number>> = {
  ARCH_2_06: 7,
  ARCH_2_07: 8,
  ARCH_3_00: 9,
  ARCH_3_1: 10,
};

/** Newer releases label the psABI levels too; klauspost/cpuid derives them from all features of the level. */
export const x86LevelLabels: Readonly<Record<string, string>> = {
  X86_64_V1: "x86-64",
  X86_64_V2: "x86-64-v2",
  X86_64_V3: "x86-64-v3",
  X86_64_V4: "x86-64-v4",
};

/** Label → Linux name; null for a label that no image asks for. */
export function linuxNameOf(label: string, architecture: string): string | null {
  if (architecture === "arm64") return label.toLowerCase();
  return architecture === "amd64" ? (x86Names.get(label) ?? null) : null;
}

/** The Linux names that the default configuration of Node Feature Discovery leaves out. */
export function blockedByDefault(architecture: string): readonly string[] {
  return architecture === "amd64" ? x86Labels.blocked : [];
}

/** The Linux names whose absence among the labels proves a lack of the feature, given the features that the labels prove. */
export function alwaysLabelled(architecture: string, proven: ReadonlySet<string>): readonly string[] {
  if (architecture === "arm64") return armAlways;
  if (architecture !== "amd64") return [];
  return proven.has("avx512f")
    ? x86Labels.always
    : x86Labels.always.filter((feature) => !labelledWithAvx512.includes(feature));
}

/** NFD 0.8 to 0.11 looks for these on CPUs with AVX-512 alone (klauspost/cpuid before pull request 108). */
const labelledWithAvx512: readonly string[] = ["gfni", "vaes", "vpclmulqdq"];

const x86Names: ReadonlyMap<string, string> = new Map(
  Object.values(x86Labels)
    .flat()
    .map((linux) => [ownNames[linux] ?? linux.replaceAll("_", "").toUpperCase(), linux]),
);

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}
