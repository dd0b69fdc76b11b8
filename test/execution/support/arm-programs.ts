/** Programs for AArch64 that need no libc: with one use of each feature, and one that says what the CPU has. */

import { largeProgram } from "./large-program.ts";

/**
 * One instruction of each feature that the emulator knows (not DC CVAP, which ends it), whose registers do no harm; `x0` and `x1` point to memory of 64 bytes. Source: Arm DDI 0487, the
 * instruction's "This instruction is … FEAT_…".
 */
export const armInstructions: Readonly<Record<string, string>> = {
  aes: "aese v0.16b, v1.16b",
  asimddp: "udot v0.4s, v1.16b, v2.16b",
  asimdfhm: "fmlal v0.4s, v1.4h, v2.4h",
  asimdhp: "fadd v0.8h, v1.8h, v2.8h",
  asimdrdm: "sqrdmlah v0.4s, v1.4s, v2.4s",
  atomics: "ldadd x2, x3, [x0]",
  bf16: "bfdot v0.4s, v1.8h, v2.8h",
  crc32: "crc32b w2, w2, w3",
  dit: "msr dit, #1",
  fcma: "fcadd v0.4s, v1.4s, v2.4s, #90",
  flagm: "cfinv",
  flagm2: "axflag",
  fphp: "fadd h0, h1, h2",
  frint: "frint32z s0, s1",
  i8mm: "smmla v0.4s, v1.16b, v2.16b",
  ilrcpc: "ldapur x2, [x0]",
  jscvt: "fjcvtzs w2, d0",
  lrcpc: "ldapr x2, [x0]",
  paca: "pacia x2, x3",
  pacg: "pacga x2, x2, x3",
  pmull: "pmull v0.1q, v1.1d, v2.1d",
  rng: "mrs x2, s3_3_c2_c4_0",
  sb: "sb",
  sha1: "sha1h s0, s1",
  sha2: "sha256su0 v0.4s, v1.4s",
  sha3: "eor3 v0.16b, v1.16b, v2.16b, v3.16b",
  sha512: "sha512su0 v0.2d, v1.2d",
  sm3: "sm3partw1 v0.4s, v1.4s, v2.4s",
  sm4: "sm4e v0.4s, v1.4s",
  sve: "add z0.s, z1.s, z2.s",
  sve2: "smlalb z0.s, z1.h, z2.h",
  sveaes: "aese z0.b, z0.b, z1.b",
  svebf16: "bfdot z0.s, z1.h, z2.h",
  svebitperm: "bext z0.b, z1.b, z2.b",
  svei8mm: "smmla z0.s, z1.b, z2.b",
};

const architecture =
  ".arch armv8.6-a+sve2+sve2-bitperm+sve2-aes+sve2-sha3+sve2-sm4+aes+sha2+sha3+sm4+fp16+fp16fml+rng+memtag+flagm+i8mm+bf16+dotprod";

const start = `
__asm__(".globl _start\\n_start: mov x0, sp\\nbl begin\\nmov x8, #94\\nsvc #0\\n");
`;

export function armLargeProgram(): string {
  return `${largeProgram()}int begin(void) { return work(); }\n${start}`;
}

/** Uses every one of these features. */
export function armProgramFor(features: readonly string[]): string {
  const uses = features.flatMap((feature) => armInstructions[feature] ?? []);
  const lines = [architecture, "mov x0, %0", "mov x1, %0", ...uses].join("\\n");
  return `static char memory[4096] __attribute__((aligned(64)));
int begin(void) { __asm__ volatile("${lines}" : : "r"(memory) : "x0", "x1", "x2", "x3", "cc", "memory", "v0"); return 7; }
${start}`;
}

/** Writes AT_HWCAP and AT_HWCAP2 in hexadecimal digits. */
export const hwcapProgram = `
static long call(long number, long a, const void *b, long c) {
  register long x8 __asm__("x8") = number; register long x0 __asm__("x0") = a;
  register const void *x1 __asm__("x1") = b; register long x2 __asm__("x2") = c;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
static void print(unsigned long value) {
  char text[17];
  for (int i = 0; i < 16; i++) text[i] = "0123456789abcdef"[(value >> (60 - 4 * i)) & 15];
  text[16] = 10;
  call(64, 1, text, 17);
}
int begin(unsigned long *stack) {
  unsigned long *at = stack + 1 + *stack + 1, one = 0, two = 0;
  while (*at) at++;
  for (at++; *at; at += 2) { if (*at == 16) one = at[1]; if (*at == 26) two = at[1]; }
  print(one);
  print(two);
  return 0;
}
${start}`;

/** By bit. Source: Linux \`arch/arm64/include/uapi/asm/hwcap.h\`. */
const hwcap =
  "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg".split(
    " ",
  );
const hwcap2 =
  "dcpodp sve2 sveaes svepmull svebitperm svesha3 svesm4 flagm2 frint svei8mm svef32mm svef64mm svebf16 i8mm bf16 dgh rng bti mte ecv afp rpres mte3 sme".split(
    " ",
  );

/** The output of {@link hwcapProgram}, in Linux names. */
export function readHwcaps(text: string): ReadonlySet<string> {
  const [one = 0n, two = 0n] = text
    .trim()
    .split("\n")
    .map((line) => BigInt(`0x${line}`));
  const has = (names: readonly string[], bits: bigint) =>
    names.filter((_, bit) => ((bits >> BigInt(bit)) & 1n) === 1n);
  return new Set([...has(hwcap, one), ...has(hwcap2, two)]);
}
