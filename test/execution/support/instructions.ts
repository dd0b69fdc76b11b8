/**
 * One instruction for each CPU feature, as inline assembly: assembled whatever the compiler's options are. Each is a true use of
 * its feature, so a CPU without the feature refuses it; `check` tells where a CPU runs it as another instruction instead.
 *
 * Sources: Intel SDM volume 2 and AMD APM volumes 3 and 4, "CPUID feature flag" of each instruction.
 */

/** C statements; `memory` is 4096 zeroed bytes, aligned to 64. */
export const instructions: Readonly<Record<string, string>> = {
  "3dnow": simple("pfadd %mm0, %mm0; femms"),
  "3dnowext": simple("pswapd %mm0, %mm0; emms"),
  "3dnowprefetch": 'asm volatile("prefetchw %0" : "+m"(memory));',
  // Without lzcnt the same bytes are bsr, whose answer for 1 is 0.
  abm: 'unsigned n; asm volatile("lzcnt %1, %0" : "=r"(n) : "r"(1u) : "cc"); if (n != 31) return 3;',
  adx: simple("adcx %rax, %rax", "rax"),
  aes: simple("aesenc %xmm0, %xmm0"),
  avx: simple("vaddps %ymm0, %ymm0, %ymm0"),
  avx2: simple("vpaddd %ymm0, %ymm0, %ymm0"),
  avx512_bf16: simple("vdpbf16ps %zmm0, %zmm0, %zmm0"),
  avx512_bitalg: simple("vpopcntb %zmm0, %zmm0"),
  avx512_fp16: simple("vaddph %zmm0, %zmm0, %zmm0"),
  avx512_vbmi2: simple("vpshldw $1, %zmm0, %zmm0, %zmm0"),
  avx512_vnni: simple("vpdpbusd %zmm0, %zmm0, %zmm0"),
  avx512_vp2intersect: simple("vp2intersectd %zmm0, %zmm0, %k2"),
  avx512_vpopcntdq: simple("vpopcntd %zmm0, %zmm0"),
  avx512bw: simple("vpaddw %zmm0, %zmm0, %zmm0"),
  avx512cd: simple("vplzcntd %zmm0, %zmm0"),
  avx512dq: simple("vpmullq %zmm0, %zmm0, %zmm0"),
  avx512f: simple("vaddps %zmm0, %zmm0, %zmm0"),
  avx512ifma: simple("vpmadd52luq %zmm0, %zmm0, %zmm0"),
  avx512vbmi: simple("vpermb %zmm0, %zmm0, %zmm0"),
  avx512vl: simple("vpternlogd $1, %ymm0, %ymm0, %ymm0"),
  avx_vnni: 'asm volatile("%{vex%} vpdpbusd %%ymm0, %%ymm0, %%ymm0" : : : "xmm0");',
  bmi1: simple("andn %eax, %eax, %eax", "eax"),
  bmi2: simple("pdep %eax, %eax, %eax", "eax"),
  clflushopt: 'asm volatile("clflushopt %0" : "+m"(memory));',
  clwb: 'asm volatile("clwb %0" : "+m"(memory));',
  cx16: 'long a = 0, d = 0; asm volatile("lock cmpxchg16b %2" : "+a"(a), "+d"(d), "+m"(memory) : "b"(0l), "c"(0l) : "cc");',
  f16c: simple("vcvtph2ps %xmm0, %ymm0"),
  fma: simple("vfmadd231ps %ymm0, %ymm0, %ymm0"),
  fma4: simple("vfmaddps %ymm0, %ymm0, %ymm0, %ymm0"),
  gfni: simple("gf2p8mulb %xmm0, %xmm0"),
  lahf_lm: simple("lahf", "rax"),
  movbe: 'unsigned n; asm volatile("movbe %1, %0" : "=r"(n) : "m"(memory));',
  movdir64b: 'asm volatile("movdir64b (%1), %0" : : "r"(memory), "r"(memory + 64) : "memory");',
  movdiri: 'asm volatile("movdiri %%eax, %0" : "+m"(memory) : : "memory");',
  pclmulqdq: simple("pclmulqdq $0, %xmm0, %xmm0"),
  pni: simple("haddps %xmm0, %xmm0"),
  popcnt: 'unsigned n; asm volatile("popcnt %1, %0" : "=r"(n) : "r"(255u) : "cc"); if (n != 8) return 3;',
  rdpid: simple("rdpid %rax", "rax"),
  rdrand: simple("rdrand %eax", "eax"),
  rdseed: simple("rdseed %eax", "eax"),
  serialize: simple("serialize"),
  sha_ni: simple("sha1msg1 %xmm0, %xmm0"),
  sse4_1: simple("pminsb %xmm0, %xmm0"),
  sse4_2: simple("pcmpgtq %xmm0, %xmm0"),
  sse4a: simple("extrq %xmm0, %xmm0"),
  ssse3: simple("pabsb %xmm0, %xmm0"),
  tbm: simple("blsfill %eax, %eax", "eax"),
  vaes: simple("vaesenc %ymm0, %ymm0, %ymm0"),
  vpclmulqdq: simple("vpclmulqdq $0, %ymm0, %ymm0, %ymm0"),
  waitpkg: 'asm volatile("tpause %0" : : "r"(1u), "a"(0), "d"(0) : "cc");',
  xop: simple("vprotb $1, %xmm0, %xmm0"),
  xsave: 'asm volatile("xsave64 %0" : "+m"(memory) : "a"(1), "d"(0) : "memory");',
  xsavec: 'asm volatile("xsavec64 %0" : "+m"(memory) : "a"(1), "d"(0) : "memory");',
  xsaveopt: 'asm volatile("xsaveopt64 %0" : "+m"(memory) : "a"(1), "d"(0) : "memory");',
};

/** A statement without operands. Inline assembly without a colon takes `%` as it is, with one it wants `%%`. */
function simple(assembly: string, clobbered = "xmm0"): string {
  return `asm volatile("${assembly.replaceAll("%", "%%")}" : : : "${clobbered}", "cc");`;
}

/** A program that uses every one of these features, and loops that the compiler turns into whatever its options allow. */
export function programFor(features: readonly string[]): string {
  const uses = features.flatMap((feature) => instructions[feature] ?? []).map((use) => `  { ${use} }`);
  return `
static char memory[4096] __attribute__((aligned(64)));
static float a[1024], b[1024], c[1024];
static double d[512];
static int n[1024];
static unsigned short h[1024];
static long count[256];
volatile int seed = 3;

static int loops(void) {
  for (int i = 0; i < 1024; i++) { a[i] = i * seed; b[i] = i - seed; n[i] = i ^ seed; h[i] = i * 7; }
  for (int i = 0; i < 1024; i++) c[i] += a[i] * b[i];
  for (int i = 0; i < 512; i++) d[i] = d[i] * 2.0 + c[i];
  for (int i = 0; i < 1024; i++) n[i] = n[i] > 40 ? n[i] >> (i & 7) : -n[i];
  for (int i = 0; i < 256; i++) {
    unsigned long long x = (unsigned long long)n[i] * 0x9e3779b97f4a7c15ull;
    count[i] = __builtin_popcountll(x) + __builtin_clzll(x | 1) + __builtin_ctzll(x | 2) + (x & (x - 1)) + __builtin_bswap64(x);
  }
  for (int i = 0; i < 1024; i++) h[i] = (h[i] * 3 + h[1023 - i]) >> 1;
  long sum = 0;
  for (int i = 0; i < 1024; i++) sum += (long)c[i] + n[i] + h[i] + count[i & 255] + (long)d[i & 511];
  return sum == 0x123456789l;
}

int main(void) {
${uses.join("\n")}
  asm volatile("" : : : "memory");
  return loops() ? 2 : 0;
}
`;
}
