/** The code that a program reaches from its start: by calls, by tables of pointers, and by addresses that `main` hands on. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ByteSource, memorySource } from "../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { fixedPointers } from "../../../src/inspect/cpu/fixed-pointers.ts";
import { readFunctionRanges } from "../../../src/inspect/cpu/function-ranges.ts";
import { startCodeOf } from "../../../src/inspect/cpu/start-code.ts";
import { type Elf, sectionType } from "../../../src/inspect/elf/elf.ts";
import { symbolType } from "../../../src/inspect/elf/symbols.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc, whyNoVersion } from "../../support/programs.ts";

const whyNoX86 = process.arch === "x64" ? null : "no x86-64 CPU";

async function startOf(file: string) {
  const found = await inspectFile(memorySource(readFileSync(file)), false);
  if (found?.cpu == null) throw new Error("no code");
  const { features } = findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] });
  return { features, asks: found.cpu.asks, start: found.cpu.start };
}

/** As Rust's standard library: compiled for every CPU, asks for a CPU, and calls what it is given. */
const outer = `int question(void) {
  int a = 7, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b;
}
int level;
int outer(int (*call)(int), int count) {
  level = question();
  return count > 90 ? level : call(count);
}
`;
const user = `#include <stdio.h>
static float sums[64];
int user_main(int count) {
  for (int i = 0; i < 64; i++) sums[i] = sums[i] * count + 1.5f;
  return printf("%f", sums[count]) < 0;
}
int outer(int (*call)(int), int count);
`;
const handing = "int main(int argc, char **argv) { return outer(user_main, argc); }\n";

/** Each file by its own options. */
async function linked(
  files: Readonly<Record<string, readonly [string, ...string[]]>>,
  ...options: readonly string[]
) {
  const cwd = makeFolder(Object.fromEntries(Object.entries(files).map(([name, [text]]) => [name, text])));
  for (const [name, [, ...own]] of Object.entries(files))
    execFileSync("gcc", ["-O2", "-c", name, ...own], { cwd });
  const objects = Object.keys(files).map((name) => name.replace(/c$/, "o"));
  execFileSync("gcc", [...objects, "-o", "a.out", ...options], { cwd });
  return startOf(join(cwd, "a.out"));
}

describe("code whose address main hands on", needs(whyNoX86 ?? whyNoGcc()), () => {
  const haswell = ["-march=haswell", "-fno-plt"];

  it.each([
    ["in a program that may be anywhere in memory", [], []],
    ["by a call through the table of pointers", [], ["-Wl,--no-relax"]],
    ["in a program that is never moved", ["-fno-pie"], ["-no-pie"]],
    ["in a stripped program", [], ["-s"]],
    ["in a static program", [], ["-static"]],
    ["without any name", ["-fno-asynchronous-unwind-tables"], ["-s"]],
  ])("is followed: %s", async (_, own, options) => {
    const { features, asks } = await linked(
      { "outer.c": [outer, ...own], "user.c": [user + handing, ...haswell, ...own] },
      ...options,
    );
    expect(asks).toContain("cpuid");
    expect(features.avx).toBe("compiledFor");
  });

  it("is followed no further than a question: the program chooses", async () => {
    const choosing = `extern int level;
int question(void);
__attribute__((target("avx2"))) int fast(int count);
int slow(int count) { return count * 3; }
int choose(int count) { return (question() & 32 ? fast : slow)(count); }
${handing.replace("user_main", "choose")}`;
    const { features } = await linked({
      "outer.c": [outer],
      "user.c": [user.replace("user_main", "fast"), "-march=haswell"],
      "main.c": [`int outer(int (*call)(int), int count);\n${choosing}`],
    });
    expect(features.avx).toBe("mayBeUsed");
  });

  it("is not where the question is XGETBV alone, in a function that nothing names", async () => {
    const wide = `#include <stdio.h>
int level(void);
unsigned mask(void);
int main(int n, char **v) { return printf("%u", level() ? mask() : 0) < 0; }
`;
    const asking = `int level(void) { int a = 1, b, c, d; __asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d)); return c >> 27 & 1; }`;
    const reading = `unsigned mask(void) { unsigned a, d; __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0)); return a; }`;
    const noName = "-fno-asynchronous-unwind-tables";
    const { features, start } = await linked(
      { "a.c": [wide], "b.c": [asking, noName], "c.c": [reading, noName, "-falign-functions=4096"] },
      "-s",
    );
    expect(features.xsave).toBe("mayBeUsed");
    expect(start?.reached).toEqual([]);
  });

  it("counts before its question", async () => {
    const asking = user.replace("return printf", "if (question() & 32) return 3;\n  return printf");
    const { features } = await linked({
      "outer.c": [outer],
      "user.c": [`int question(void);\n${asking}${handing}`, "-march=haswell"],
    });
    expect(features.avx).toBe("compiledFor");
  });
});

describe("virtual functions of what a deeper function makes", needs(whyNoX86 ?? whyNoGcc()), () => {
  /** As C++ compilers lay out a table: clang takes its start, gcc the place of the first function. */
  const made = `struct work { int (*const *table)(int); };
static float sums[64];
static int add(int n) { for (int i = 0; i < 64; i++) sums[i] = sums[i] * n + 1.5f; return sums[n & 63]; }
static int shift(int n) { for (int i = 0; i < 64; i++) sums[i] = (int)sums[i] << (n & 3) + i; return sums[n & 63]; }
static const struct { long top; void *type; int (*all[2])(int); } tables[2] = {{0, 0, {add, shift}}, {0, 0, {shift, add}}};
__attribute__((noinline)) void make(struct work *work, int kind) {
#ifdef START
  const char *start = (const char *)&tables[0];
  __asm__("" : "+r"(start));
  work->table = (int (*const *)(int))(start + 16);
#else
  work->table = tables[0].all;
#endif
}
int question(void);
`;
  const run = "make(&work, n); n = work.table[n & 1](n); return n > 9 ? question() : n;";
  const needing = `static double first(int n) { volatile double x = n; return x * 2.5; }
int main(int n, char **v) { struct work work; if (first(n) < 0) return 3; ${run} }
`;
  const needsNothing = `int main(int n, char **v) { struct work work; ${run} }
`;

  it.each([[], ["-DSTART"]].flatMap((way) => [[], ["-s"], ["-no-pie"]].map((options) => ({ way, options }))))(
    "are followed where main needs AVX: $way, $options",
    async ({ way, options }) => {
      const own = options.includes("-no-pie") ? ["-fno-pie"] : [];
      const { features, start, asks } = await linked(
        {
          "outer.c": [outer],
          "work.c": [made + needing, "-O3", "-w", "-march=haswell", ...way, ...own],
        },
        ...options,
      );
      expect(asks).toContain("cpuid");
      expect(start?.needed).toEqual({ avx: "main" });
      expect([features.avx, features.avx2]).toEqual(["needed", "compiledFor"]);
    },
  );

  it("are not followed where main needs nothing: a caller may have chosen", async () => {
    const { start } = await linked({
      "outer.c": [outer],
      "work.c": [made + needsNothing, "-O3", "-w", "-march=haswell"],
    });
    expect([start?.needed, start?.reached]).toEqual([{}, []]);
  });

  it.each([
    ["gcc's table", "", ""],
    [
      "Rust's, with the size and the alignment behind the first function",
      "void *drop; long size, align;",
      "make, 24, 8,",
    ],
  ])("may need SSSE3 where main needs nothing: %s", async (_, fields, values) => {
    const hash = `#include <tmmintrin.h>
__m128i state;
void make(void);
static int hash(int n) { state = _mm_shuffle_epi8(state, _mm_set1_epi8(n)); return n; }
static const struct { ${fields} int (*all[1])(int); } table = {${values} {hash}};
const void *table_of;
__attribute__((noinline)) void make(void) { table_of = &table; }
int question(void);
int main(int n, char **v) { make(); return n > 9 ? question() : ((int (*const *)(int))table_of)[0](n); }
`;
    const { features, start } = await linked({
      "outer.c": [outer],
      "work.c": [hash, "-O3", "-w", "-mssse3"],
    });
    expect(start).toMatchObject({ reached: [], behindHanded: ["ssse3"] });
    expect(features.ssse3).toBe("undecided");
  });

  it("are not followed behind a question for more", async () => {
    const asking = needing.replace("make(&work, n)", "if (!(question() & 32)) return 0; make(&work, n)");
    const { features } = await linked({
      "outer.c": [outer],
      "work.c": [made + asking, "-O3", "-w", "-march=haswell"],
    });
    expect([features.avx, features.avx2]).toEqual(["needed", "undecided"]);
  });
});

describe("code that main has started", needs(whyNoX86 ?? whyNoGcc()), () => {
  const fast = `#include <stdio.h>
static float sums[64];
static int sum(int count) {
  for (int i = 0; i < 64; i++) sums[i] = sums[i] * count + 1.5f;
  return printf("%f", sums[count]) < 0;
}
`;
  const asks = "int question(void);\nextern int level;\n";
  const main = `${asks}int run(int n);\nint main(int n, char **v) { return run(n) && question(); }\n`;
  const ways = [
    [
      "a thread",
      `#include <pthread.h>
static void *work(void *n) { return (void *)(long)sum(*(int *)n); }
int run(int n) { pthread_t thread; return pthread_create(&thread, 0, work, &n) || pthread_join(thread, 0); }
`,
    ],
    [
      "a comparison",
      `#include <stdlib.h>
static int compare(const void *a, const void *b) { return sum(*(const int *)a - *(const int *)b & 63); }
int run(int n) { int all[9] = {n, 4, 2}; qsort(all, 9, sizeof n, compare); return all[3]; }
`,
    ],
  ] as const;

  it.each(
    ways.flatMap(([what, text]) =>
      [[], ["-s"], ["-no-pie"], ["-Wl,-z,now", "-Wl,--no-relax"]].map((options) => ({ what, text, options })),
    ),
  )("is followed: $what, $options", async ({ text, options }) => {
    const { features, asks } = await linked(
      {
        "outer.c": [outer],
        "main.c": [main],
        "work.c": [
          fast + text,
          "-O3",
          "-march=haswell",
          ...(options.includes("-no-pie") ? ["-fno-pie"] : []),
        ],
      },
      ...options,
    );
    expect(asks).toContain("cpuid");
    expect(["compiledFor", "needed"]).toContain(features.avx);
  });

  it.each([[[]], [["-s"]], [["-no-pie", "-fno-pie"]]])(
    "is followed through a table: std::thread, %s",
    async (options) => {
      const cwd = makeFolder({
        "outer.c": outer,
        "main.c": main,
        "work.cc": `#include <thread>\n${fast}extern "C" int run(int n) { std::thread thread([=] { sum(n & 63); }); thread.join(); return 0; }`,
      });
      const own = options.filter((each) => each !== "-s");
      execFileSync("gcc", ["-O2", "-c", "outer.c", "main.c", ...own], { cwd });
      execFileSync("g++", ["-O3", "-march=haswell", "-c", "work.cc", ...own], { cwd });
      execFileSync("g++", ["outer.o", "main.o", "work.o", "-o", "a.out", "-pthread", ...options], { cwd });
      expect(["compiledFor", "needed"]).toContain((await startOf(join(cwd, "a.out"))).features.avx);
    },
  );

  it("chooses behind a question", async () => {
    const text = `#include <pthread.h>
${asks}int slow(int n);
static void *work(void *n) { return (void *)(long)sum(*(int *)n); }
static void *old(void *n) { return (void *)(long)slow(*(int *)n); }
int run(int n) { pthread_t thread; return pthread_create(&thread, 0, level & 32 ? work : old, &n) || pthread_join(thread, 0); }
`;
    const { features } = await linked({
      "outer.c": [`${outer}int slow(int n) { return n * 3; }\n`],
      "main.c": [main],
      "work.c": [fast + text, "-O3", "-march=haswell"],
    });
    expect(features.avx).toBe("mayBeUsed");
  });
});

it(
  "is not what the file was compiled for: what older code calls by an answer that it keeps",
  needs(whyNoX86 ?? whyNoGcc()),
  async () => {
    const program = `#include <stdio.h>
#include <stdlib.h>
typedef struct { int isFast; float all[64]; } State;
__attribute__((noinline)) State *create(int n) {
  State *state = calloc(n, sizeof *state);
  state->isFast = __builtin_cpu_supports("avx2");
  return state;
}
__attribute__((noinline, target("avx2"))) float fast(State *state) { float s = 0; for (int i = 0; i < 64; i++) s += state->all[i] * 3; return s; }
__attribute__((noinline)) float work(State *state, float by) {
  for (int i = 0; i < 64; i++) state->all[i] += by;
  return state->isFast ? fast(state) : by * 2;
}
int main(int n, char **v) { return printf("%f", work(create(n), n)) < 0; }
`;
    const { features, start } = await linked({ "a.c": [program, "-O3"] });
    expect(start?.reached).toContain("avx");
    expect(start?.unchosen).not.toContain("avx");
    expect(features.avx).toBe("undecided");
  },
);

it("is no question to the CPU: a look at the auxiliary vector", needs(whyNoX86 ?? whyNoGcc()), async () => {
  const library = `#include <sys/auxv.h>
unsigned long stack(void) { return getauxval(AT_MINSIGSTKSZ); }
void scale(float *a) { for (int i = 0; i < 64; i++) a[i] *= 3; }
`;
  const { features, asks } = await linked(
    { "a.c": [`#define AT_MINSIGSTKSZ 51\n${library}`, "-march=haswell", "-O3", "-fPIC"] },
    "-shared",
  );
  expect(asks).toEqual([]);
  expect(features.avx).toBe("compiledFor");
});

it("asks by its runtime: a snapshot of Dart", needs(whyNoX86 ?? whyNoGcc()), async () => {
  const snapshot = (name: string) => `#include <smmintrin.h>
const char ${name}[4096] = {1};
double rounded(double a) { return _mm_cvtsd_f64(_mm_round_sd(_mm_set_sd(a), _mm_set_sd(a), 9)); }
`;
  const needed = async (name: string) =>
    (await linked({ "a.c": [snapshot(name), "-msse4.1", "-fPIC"] }, "-shared")).features.sse4_1;
  expect(await needed("_kDartSnapshotText")).toBe("mayBeUsed");
  expect(await needed("text")).toBe("compiledFor");
});

describe("code of which nothing names the functions", needs(whyNoX86 ?? whyNoGcc()), () => {
  /** As by Rust with `panic=abort`: a function ends with a call that does not return. */
  const library = (after: string) => `__asm__(
".text; .globl JNI_OnLoad; .type JNI_OnLoad,@function; JNI_OnLoad: call first; ret; .size JNI_OnLoad,.-JNI_OnLoad;"
"stop: hlt; first: test %edi,%edi; je 1f; ret; 1: call stop; second: vpaddd %ymm0,%ymm0,%ymm0; ret;"
"${after}; .skip 200000,0x90");
unsigned level(void) { unsigned a = 7, b, c = 0, d; __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)); return b; }
`;

  it.each([
    ["does not go on behind it where the next function is called", "third: call second; ret", []],
    ["goes on where a jump leads there", "third: {disp32} jmp second", ["avx2"]],
  ])("%s", async (_name, after, reached) => {
    const { start } = await linked(
      { "a.c": [library(after), "-fno-asynchronous-unwind-tables"] },
      ...["-shared", "-nostdlib", "-s"],
    );
    expect(start).toMatchObject({ reached, isWhole: true });
  });
});

const whyNoRust = whyNoX86 ?? whyNoVersion("rustc", "apt-get install rustc");

describe("a program by rustc", needs(whyNoRust), () => {
  /** Sums floats, and has a question of its own. */
  const program = `
#[target_feature(enable = "avx2")]
unsafe fn fast(a: &[f32]) -> f32 { a.iter().map(|x| x * x).sum() }
fn slow(a: &[f32]) -> f32 { a.iter().map(|x| x * 3.5).sum() }
fn pick(a: &[f32]) -> f32 { if is_x86_feature_detected!("avx2") { unsafe { fast(a) } } else { slow(a) } }
fn main() {
    let all: Vec<f32> = (0..std::env::args().count() * 64).map(|i| i as f32).collect();
    println!("{} {:?}", pick(&all), all.first());
}
`;
  const hello =
    'fn main() { println!("{:?}", std::env::args().map(|a| a.len() as f32).collect::<Vec<f32>>()); }';
  const built = (source: string, ...options: readonly string[]) => {
    const cwd = makeFolder({ "a.rs": source });
    execFileSync("rustc", ["a.rs", "-o", "a.out", ...options], { cwd, stdio: "ignore" });
    return startOf(join(cwd, "a.out"));
  };
  const ways = [
    ["without optimization", []],
    ["with optimization", ["-Copt-level=3"]],
    ["stripped, as one", ["-Copt-level=s", "-Clto", "-Cpanic=abort", "-Cstrip=symbols"]],
  ] as const;

  it.each(ways)("takes what it was compiled for: %s", { timeout: 120_000 }, async (_, options) => {
    for (const source of [hello, program]) {
      const { features } = await built(source, "-Ctarget-cpu=x86-64-v3", ...options);
      expect(["compiledFor", "needed"]).toContain(features.avx);
    }
  });

  it.each(ways)("of the baseline chooses: %s", { timeout: 120_000 }, async (_, options) => {
    const { features } = await built(program, ...options);
    const taken = Object.entries(features).filter(([, need]) => need !== "mayBeUsed");
    expect(taken).toEqual([]);
  });
});

/** A library of one section of code and a constructor for each function. */
function overlapping(size: number, functionSize: (index: number) => number) {
  /** `call` of the next function: each begins inside all before. */
  const unit = Buffer.from("e800000000", "hex");
  const count = Math.floor(size / 29);
  const code = Buffer.alloc(count * unit.length, unit);
  const symbols = Buffer.alloc(count * 24);
  for (let index = 0; index < count; index++) {
    const at = index * 24;
    symbols[at + 4] = symbolType.function;
    symbols[at + 6] = 1;
    symbols.writeUInt32LE(1 + index * unit.length, at + 8);
    symbols.writeUInt32LE(functionSize(count - index) * unit.length, at + 16);
  }
  const constructors = Buffer.alloc(8);
  constructors.writeUInt32LE(1);
  const bytes = Buffer.concat([Buffer.alloc(1), code, symbols, constructors]);
  const plain = { flags: 0, address: 0, link: 0 };
  const text = { ...plain, type: sectionType.program, flags: 6, address: 1, offset: 1, size: code.length };
  const at = 1 + code.length;
  const elf: Elf = {
    ...{ bits: 64, machine: 62, type: 3, flags: 0, osAbi: 0, abiVersion: 0, version: 1, entry: 0 },
    sections: [
      { ...text, name: ".text" },
      { ...plain, name: ".symtab", type: sectionType.symbols, offset: at, size: symbols.length },
      { ...plain, name: ".init_array", type: 14, offset: at + symbols.length, size: 8 },
    ],
    segments: [{ ...text, type: 1, flags: 5 }],
    ...{ tables: [], damage: [] },
  };
  return { bytes, elf };
}

/** The start code, and how many bytes of the file were decoded for each byte of the file. */
function read({ bytes, elf }: ReturnType<typeof overlapping>) {
  const plain = memorySource(bytes);
  let count = 0;
  const source: ByteSource = {
    ...plain,
    read(at, length) {
      const found = plain.read(at, length);
      count += found.length;
      return found;
    },
  };
  const start = startCodeOf(
    source,
    elf,
    readFunctionRanges(plain, elf),
    fixedPointers(source, elf),
    new Map(),
  );
  return { start, times: count / bytes.length };
}

describe("what is decoded of a file", () => {
  it.each([2 ** 15, 2 ** 18])("is at most four times its %d bytes, however functions overlap", (size) => {
    const { start, times } = read(overlapping(size, (rest) => rest));
    expect(times).toBeLessThan(4.1);
    expect(start).toMatchObject({ isWhole: false });
  });

  it("is all that the starts reach, where functions stand side by side", () => {
    const { start, times } = read(overlapping(2 ** 15, () => 1));
    expect(times).toBeLessThan(1);
    expect(start).toMatchObject({ isWhole: true });
  });
});
