/**
 * iced's names of CPUID features in the words of Linux. Sources: iced-x86 1.21 `CpuidFeature`; Linux
 * `arch/x86/include/asm/cpufeatures.h`.
 */

/** The name in lower case is Linux's, unless it stands here. */
const renamed: Readonly<Record<string, string>> = {
  AESKLE: "kl",
  AVX512_IFMA: "avx512ifma",
  AVX512_VBMI: "avx512vbmi",
  AVX512_4FMAPS: "avx512_4fmaps",
  CET_SS: "user_shstk",
  CMPXCHG16B: "cx16",
  D3NOW: "3dnow",
  D3NOWEXT: "3dnowext",
  // XTEST, which a CPU with either has.
  HLE_or_RTM: "rtm",
  LZCNT: "abm",
  MONITORX: "mwaitx",
  PADLOCK_ACE: "ace",
  PADLOCK_PHE: "phe",
  PADLOCK_PMM: "pmm",
  PADLOCK_RNG: "rng",
  PREFETCHITI: "prefetchi",
  PREFETCHW: "3dnowprefetch",
  SGX1: "sgx",
  SHA: "sha_ni",
  SSE3: "pni",
  WIDE_KL: "widekl",
};

/** Every x86-64 CPU has them, or ignores them: ENDBR, PAUSE and the long NOP are NOPs where they mean nothing (Intel SDM). */
const everywhere = new Set(
  (
    "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL286_ONLY INTEL386 INTEL386_ONLY INTEL386_A0_ONLY INTEL486 " +
    "INTEL486_A_ONLY X64 CLFSH CMOV CPUID CX8 FPU FPU287 FPU287XL_ONLY FPU387 FPU387SL_ONLY FXSR MMX MULTIBYTENOP PAUSE " +
    "CET_IBT SEP SSE SSE2 SYSCALL TSC CLDEMOTE MPX"
  ).split(" "),
);

/**
 * Raise an exception in every program: where they stand in one, they are data, or the program looks for a hypervisor
 * (Intel SDM and AMD APM: CPL 0 alone).
 */
const privileged = new Set(
  (
    "CL1INVMB CYRIX_SMM FRED HRESET INVEPT INVLPGB INVPCID INVVPID LKGS MCOMMIT MONITOR MSR MSRLIST PCONFIG RDPMC RMPQUERY " +
    "SEV_ES SEV_SNP SKINIT SKINIT_or_SVM SMAP SMM SMX SVM TDX UDBG VMX WBNOINVD WRMSRNS XSAVES"
  ).split(" "),
);

/** null for what no program has to ask for. */
export function linuxFeature(icedName: string): string | null {
  if (everywhere.has(icedName) || privileged.has(icedName)) return null;
  return renamed[icedName] ?? icedName.toLowerCase();
}
