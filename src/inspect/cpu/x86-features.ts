/**
 * Translates iced's names of CPUID features into Linux names. Sources: iced-x86 1.21 `CpuidFeature`; Linux
 * `arch/x86/include/asm/cpufeatures.h`.
 */

/** Other names are the same in lower case. */
const renamed: Readonly<Record<string, string>> = {
  AESKLE: "kl",
  AVX512_IFMA: "avx512ifma",
  AVX512_VBMI: "avx512vbmi",
  AVX512_4FMAPS: "avx512_4fmaps",
  CET_SS: "user_shstk",
  CMPXCHG16B: "cx16",
  D3NOW: "3dnow",
  D3NOWEXT: "3dnowext",
  // XTEST: a CPU with either feature has it.
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

/** Every x86-64 CPU has these, or runs them as NOPs: ENDBR, PAUSE, the long NOP (Intel SDM). */
const everywhere = new Set(
  (
    "INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL286_ONLY INTEL386 INTEL386_ONLY INTEL386_A0_ONLY INTEL486 " +
    "INTEL486_A_ONLY X64 CLFSH CMOV CPUID CX8 FPU FPU287 FPU287XL_ONLY FPU387 FPU387SL_ONLY FXSR MMX MULTIBYTENOP PAUSE " +
    "CET_IBT SEP SSE SSE2 SYSCALL TSC CLDEMOTE MPX"
  ).split(" "),
);

/** These raise an exception in every program (Intel SDM and AMD APM: CPL 0 alone): they are data, or look for a hypervisor. */
const privileged = new Set(
  (
    "CL1INVMB CYRIX_SMM FRED HRESET INVEPT INVLPGB INVPCID INVVPID LKGS MCOMMIT MONITOR MSR MSRLIST PCONFIG RDPMC RMPQUERY " +
    "SEV_ES SEV_SNP SKINIT SKINIT_or_SVM SMAP SMM SMX SVM TDX UDBG VMX WBNOINVD WRMSRNS XSAVES"
  ).split(" "),
);

/** null for a feature that no program needs. */
export function linuxFeature(icedName: string): string | null {
  if (everywhere.has(icedName) || privileged.has(icedName)) return null;
  return renamed[icedName] ?? icedName.toLowerCase();
}
