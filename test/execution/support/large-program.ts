/**
 * A large C program of its own, for what compilers make of plain code: loops over every arithmetic type, bits, conversions, products
 * of small numbers, gathers, reductions, copies, atomics. Freestanding, so that a compiler for another machine needs no libc.
 */

const types = {
  i8: "signed char",
  u8: "unsigned char",
  i16: "short",
  u16: "unsigned short",
  i32: "int",
  u32: "unsigned",
  i64: "long",
  u64: "unsigned long",
  f32: "float",
  f64: "double",
} as const;
type Type = keyof typeof types;

/** `x`, `y`, `z` are elements of three arrays, `i` is the index. */
const forAll = [
  "x + y * z",
  "x * y - z",
  "x > y ? x : y",
  "x < y ? z : x",
  "x > 0 ? x : -x",
  "(x + y) / 2",
  "x == y ? z : x + 1",
  "(T)(x * 3) + (T)(y * 5)",
] as const;
const forIntegers = [
  "x & ~y",
  "x & (x - 1)",
  "x & -x",
  "x ^ (x - 1)",
  "(x >> 3) & 15",
  "x << (y & 7)",
  "x >> (y & 7)",
  "(x & y) | (~x & z)",
  "x ^ y ^ z",
  "(T)(((U)x << 5) | ((U)x >> (8 * sizeof(T) - 5)))",
  "__builtin_popcountl((U)x)",
  "__builtin_clzl((U)x | 1)",
  "__builtin_ctzl((U)x | 2)",
  "(T)__builtin_bswap64((U)x)",
  "(T)__builtin_bswap32((unsigned)x)",
  "(T)__builtin_bswap16((unsigned short)x)",
  "(T)(((unsigned long)(U)x * 0x9e3779b97f4a7c15ul) >> 32)",
  "x % 7",
] as const;
const forFloats = [
  "__builtin_sqrt(x * x + 1)",
  "__builtin_fabs(x) + z",
  "(T)(int)x",
  "__builtin_floor(x * (T)0.37)",
  "__builtin_rint(x * (T)0.37)",
  "1 / (x * x + 1)",
  "__builtin_copysign(x, y)",
] as const;

const size = 256;

/** The same text at every time. Its exit code is a sum over all that it computed: never 0. */
export function largeProgram(): string {
  const functions: string[] = [];
  const add = (body: string) =>
    functions.push(`static NOINLINE void part${functions.length}(void) {\n${body}\n}`);
  for (const type of Object.keys(types) as Type[]) {
    const isFloat = type.startsWith("f");
    const unsigned = type.replace("i", "u");
    for (const expression of [...forAll, ...(isFloat ? forFloats : forIntegers)]) {
      const text = expression.replaceAll(/\bT\b/g, type).replaceAll(/\bU\b/g, unsigned);
      add(
        `  for (int i = 0; i < N; i++) { ${type} x = a_${type}[i], y = b_${type}[i], z = c_${type}[i]; c_${type}[i] = ${text}; }`,
      );
    }
    add(`  ${type} s = 0; for (int i = 0; i < N; i++) s += a_${type}[i] * b_${type}[i]; c_${type}[0] += s;`);
    add(`  for (int i = 0; i < N / 2; i++) c_${type}[i] = a_${type}[2 * i] + b_${type}[2 * i + 1];`);
    add(`  for (int i = 0; i < N; i++) c_${type}[i] += a_${type}[at[i]];`);
    add(`  for (int i = 0; i < N; i++) c_${type}[i] += a_${type}[N - 1 - i];`);
    add(`  struct { ${type} v[48]; } *p = (void *)a_${type}, *q = (void *)c_${type}; *q = *p;`);
    for (const to of Object.keys(types) as Type[])
      if (to !== type) add(`  for (int i = 0; i < N; i++) c_${to}[i] += (${to})(a_${type}[i] * (${type})1);`);
  }
  for (const [wide, narrow] of [
    ["i32", "i8"],
    ["u32", "u8"],
    ["i32", "i16"],
    ["i64", "i32"],
  ])
    add(
      `  ${wide} s = 0; for (int i = 0; i < N; i++) s += (${wide})a_${narrow}[i] * b_${narrow}[i]; c_${wide}[1] += s;`,
    );
  // Complex numbers, halves, bytes until one is found, and what other threads see.
  add(
    "  for (int i = 0; i < N; i += 2) { c_f32[i] += a_f32[i] * b_f32[i] - a_f32[i + 1] * b_f32[i + 1]; c_f32[i + 1] += a_f32[i] * b_f32[i + 1] + a_f32[i + 1] * b_f32[i]; }",
  );
  add(
    "  for (int i = 0; i < N; i++) h[i] = (_Float16)a_f32[i]; for (int i = 0; i < N; i++) h[i] = h[i] * h[N - 1 - i] + h[i]; for (int i = 0; i < N; i++) c_f32[i] += h[i];",
  );
  add("  int i = 0; while (i < N - 1 && a_u8[i] != 200) i++; c_i32[2] += i;");
  add(
    "  __atomic_fetch_add(&c_i64[3], 5, __ATOMIC_SEQ_CST); __atomic_exchange_n(&c_i32[3], 7, __ATOMIC_ACQ_REL); long e = 1; __atomic_compare_exchange_n(&c_i64[4], &e, 2, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); c_i32[5] = __atomic_load_n(&c_i32[4], __ATOMIC_ACQUIRE);",
  );
  const calls = functions.map((_, index) => `  part${index}(); sum = mix(sum);`);
  return `#define N ${size}
#define NOINLINE __attribute__((noinline, noclone))
${Object.entries(types)
  .map(([name, type]) => `typedef ${type} ${name};\nstatic ${name} a_${name}[N], b_${name}[N], c_${name}[N];`)
  .join("\n")}
static _Float16 h[N];
static int at[N];
void *memcpy(void *to, const void *from, unsigned long n) { char *t = to; const char *f = from; while (n--) *t++ = *f++; return to; }
void *memset(void *to, int c, unsigned long n) { char *t = to; while (n--) *t++ = (char)c; return to; }
${functions.join("\n")}
static NOINLINE unsigned mix(unsigned sum) {
  for (int i = 0; i < N; i++) sum = sum * 31 + (unsigned)c_i32[i] + (unsigned)c_u8[i] + (unsigned)c_i64[i];
  return sum;
}
static NOINLINE int work(void) {
  unsigned sum = 1;
  for (int i = 0; i < N; i++) {
    at[i] = (i * 37) % N;
${Object.keys(types)
  .map(
    (name) =>
      `    a_${name}[i] = (${name})(i * 7 % 101 - 50); b_${name}[i] = (${name})(i * 13 % 89 + 1); c_${name}[i] = (${name})(i % 17);`,
  )
  .join("\n")}
  }
${calls.join("\n")}
  return (int)(sum % 100) + 1;
}
`;
}
