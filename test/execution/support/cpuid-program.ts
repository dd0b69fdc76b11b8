/**
 * A program that prints the features of the CPU it runs on under Linux names, as a kernel on that CPU would.
 * Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E; names and rules of Linux, arch/x86/include/asm/cpufeatures.h
 * and kernel/cpu/common.c (AVX and AVX-512 count only where the system saves their registers).
 */

/** Leaf, subleaf, register → bit → name. */
// biome-ignore format: one register per line
const leaves = [
  [1, 0, "ecx", { 0: "pni", 1: "pclmulqdq", 9: "ssse3", 12: "fma", 13: "cx16", 19: "sse4_1", 20: "sse4_2", 22: "movbe", 23: "popcnt", 25: "aes", 26: "xsave", 28: "avx", 29: "f16c", 30: "rdrand" }],
  [1, 0, "edx", { 0: "fpu", 8: "cx8", 15: "cmov", 23: "mmx", 24: "fxsr", 25: "sse", 26: "sse2" }],
  [7, 0, "ebx", { 0: "fsgsbase", 3: "bmi1", 5: "avx2", 8: "bmi2", 16: "avx512f", 17: "avx512dq", 18: "rdseed", 19: "adx", 21: "avx512ifma", 23: "clflushopt", 24: "clwb", 28: "avx512cd", 29: "sha_ni", 30: "avx512bw", 31: "avx512vl" }],
  [7, 0, "ecx", { 1: "avx512vbmi", 5: "waitpkg", 6: "avx512_vbmi2", 8: "gfni", 9: "vaes", 10: "vpclmulqdq", 11: "avx512_vnni", 12: "avx512_bitalg", 14: "avx512_vpopcntdq", 22: "rdpid", 27: "movdiri", 28: "movdir64b" }],
  [7, 0, "edx", { 8: "avx512_vp2intersect", 14: "serialize", 16: "tsxldtrk", 22: "amx_bf16", 23: "avx512_fp16", 24: "amx_tile", 25: "amx_int8" }],
  [7, 1, "eax", { 4: "avx_vnni", 5: "avx512_bf16" }],
  [13, 1, "eax", { 0: "xsaveopt", 1: "xsavec" }],
  [0x80000001, 0, "ecx", { 0: "lahf_lm", 5: "abm", 6: "sse4a", 8: "3dnowprefetch", 11: "xop", 16: "fma4", 21: "tbm" }],
  [0x80000001, 0, "edx", { 11: "syscall", 29: "lm", 30: "3dnowext", 31: "3dnow" }],
] as const;

const needsAvx = new Set(["avx", "avx2", "fma", "f16c", "vaes", "vpclmulqdq", "avx_vnni", "xop", "fma4"]);

export function cpuidProgram(): string {
  const lines = leaves.flatMap(([leaf, subleaf, register, bits]) =>
    Object.entries(bits).map(([bit, name]) => {
      const state = name.startsWith("avx512") ? " && xcr(0xe6)" : needsAvx.has(name) ? " && xcr(0x6)" : "";
      return `  if (has(0x${leaf.toString(16)}u, ${subleaf}, ${register}, ${bit})${state}) puts("${name}");`;
    }),
  );
  return `
#include <cpuid.h>
#include <stdio.h>
enum { eax, ebx, ecx, edx };
static int has(unsigned leaf, unsigned subleaf, int reg, int bit) {
  unsigned r[4];
  if (__get_cpuid_max(leaf & 0x80000000u, 0) < leaf) return 0;
  __cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
  return (r[reg] >> bit) & 1;
}
static int xcr(unsigned mask) {
  unsigned low, high;
  if (!has(1, 0, ecx, 27)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & mask) == mask;
}
int main(void) {
${lines.join("\n")}
  return 0;
}
`;
}
