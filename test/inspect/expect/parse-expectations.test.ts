import { describe, expect, it } from "vitest";
import { checkExpectations } from "../../../src/inspect/expect/expectation-rules.ts";
import { parseExpectations, wordsIn } from "../../../src/inspect/expect/parse-expectations.ts";
import { inspectionOf } from "../../../src/inspect/inspection.ts";
import { madeFile, madeImage, madePackage, type MadeProgram, unopenedFile } from "../support/made-opened.ts";

function parse(text: string) {
  const placeOf = (offset: number) => ({ file: "--expect", column: offset + 1, text });
  return parseExpectations(wordsIn(text, placeOf), placeOf(0));
}

/** `word: file: found` of every word that is not met. */
function failures(
  words: string,
  programs: readonly MadeProgram[],
  unopened: readonly string[] = [],
): string[] {
  const { expectations, problems } = parse(words);
  expect(problems).toEqual([]);
  const image = madeImage([...programs.map(madeFile), ...unopened.map((path) => unopenedFile(path))]);
  return checkExpectations(inspectionOf(image), expectations).map(
    ({ expected, file, found }) => `${expected}: ${file ?? "all"}: ${found}`,
  );
}

const cuda: MadeProgram = {
  path: "/lib/cuda.so",
  targets: ["sm_80", "sm_90a", "compute_90"],
  toolkit: "12.8",
  uses: ["avx", "avx2"],
  libc: { name: "glibc", version: "2.28" },
};

describe("what is promised and so", () => {
  it.each([
    ["sm_80 sm_90a ptx>=90 march<=x86-64-v3 driver<=550 glibc<=2.28"],
    ["8.0 90a compute_90 ptx ptx>=8.0 ptx>=sm_80 !sm_70 !7.0 !90 cuda==12 cuda==12.8 cuda<=12.8 cuda>=12"],
    ["gpu-code<=1KB gpu-code<=0.5MiB may-use<=x86-64-v3 march<=haswell driver<=525.60 glibc<=2"],
    ["sm_80 !sm_70 per-library"],
  ])("%s", (words) => expect(failures(words, [cuda])).toEqual([]));
});

const target = (name: string) => ({ target: name, version: null, modules: 1 });
const rocm: MadeProgram = {
  path: "/lib/rocm.so",
  amd: { targets: [target("gfx90a:xnack-"), target("gfx942"), target("gfx11-generic")] },
};
const blas: MadeProgram = { path: "/lib/blas.so", amd: { targets: [target("gfx942")], bytes: 500 } };

describe("AMD's targets", () => {
  it.each([
    ["gfx942 gfx11-generic gfx90a:xnack- !gfx803 !gfx90a:xnack+ gpu-code<=1.5KB"],
    ["gfx942 !gfx1201 per-library"],
  ])("so: %s", (words) => expect(failures(words, [rocm, blas])).toEqual([]));

  it.each([
    ["gfx90a", "all: gfx90a:xnack- gfx942 gfx11-generic"],
    ["gfx1100", "all: gfx90a:xnack- gfx942 gfx11-generic"],
    ["!gfx90a", "/lib/rocm.so: gfx90a:xnack-"],
    ["sm_80", "all: gfx90a:xnack- gfx942 gfx11-generic"],
    ["cuda==12", "all: gfx90a:xnack- gfx942 gfx11-generic"],
    ["gpu-code<=1KB", "/lib/rocm.so: 1500 B in 2 files"],
  ])("not so: %s", (word, found) => expect(failures(word, [rocm, blas])).toEqual([`${word}: ${found}`]));

  it("each library has to have them", () => {
    expect(failures("gfx11-generic per-library", [rocm, blas])).toEqual([
      "gfx11-generic: /lib/blas.so: gfx942",
    ]);
    // Loose code objects of a folder are one library, each for one target.
    const loose = (name: string): MadeProgram => ({
      path: `/rocblas/library/k_${name}.co`,
      amd: { targets: [target(name)] },
    });
    expect(failures("gfx942 per-library", [rocm, loose("gfx942"), loose("gfx1100")])).toEqual([]);
    expect(failures("gfx1201 per-library", [loose("gfx942"), loose("gfx1100")])).toEqual([
      "gfx1201: /rocblas/library: gfx942 gfx1100",
    ]);
  });

  it("unknown is never met, and hides nothing of NVIDIA's", () => {
    const odd: MadeProgram = {
      path: "/lib/odd.so",
      amd: { unknown: { "machine value 0x7f": 1 }, damage: ["archives"] },
      unopened: ["archives"],
    };
    expect(failures("!gfx803 !sm_70 sm_80", [cuda, odd])).toEqual([
      "!gfx803: /lib/odd.so: unknown: GPU code that is not known (machine value 0x7f): any target may be in it",
      "!gfx803: /lib/odd.so: unknown: archives",
    ]);
    expect(failures("gfx803", [odd])).toEqual(["gfx803: /lib/odd.so: unknown: archives"]);
  });

  it("are GPU code, as SYCL is", () => {
    const sycl: MadeProgram = { path: "/lib/xpu.so", sycl: { spir64: 700 } };
    expect(failures("no-gpu-code gpu-code<=1KB", [blas, sycl])).toEqual([
      "no-gpu-code: /lib/blas.so: gfx942",
      "no-gpu-code: /lib/xpu.so: sycl:spir64",
      "gpu-code<=1KB: /lib/xpu.so: 1200 B in 2 files",
    ]);
  });

  it.each(["gfx90", "gfx9999", "gfx90a:xnack", "gfx90a:xnack+:sramecc-"])("%s is none", (word) =>
    expect(parse(word).problems).toMatchObject([{ code: "EXPECT_INVALID" }]),
  );
});

describe("what is promised and not so", () => {
  it.each([
    ["sm_75", "all: sm_80 sm_90a compute_90"],
    ["9.0", "all: sm_80 sm_90a compute_90"],
    ["!sm_90a", "/lib/cuda.so: sm_90a"],
    ["!9.0a", "/lib/cuda.so: sm_90a"],
    ["!ptx", "/lib/cuda.so: compute_90"],
    ["ptx>=100", "all: sm_80 sm_90a compute_90"],
    ["no-gpu-code", "/lib/cuda.so: sm_80 sm_90a compute_90"],
    ["gpu-code<=0.9KB", "/lib/cuda.so: 1000 B in 1 file"],
    ["cuda==13", "all: code of CUDA 12.8"],
    ["cuda>=12.9", "all: code of CUDA 12.8"],
    ["cuda<=12.6", "all: code of CUDA 12.8"],
    ["driver<=470", "all: needs driver 525.60.13"],
    ["driver<=525.59", "all: needs driver 525.60.13"],
    ["march<=x86-64-v2", "/lib/cuda.so: compiled for avx avx2 (x86-64-v3)"],
    ["march<=neoverse-n1", "/lib/cuda.so: code for x86_64"],
    ["glibc<=2.17", "/lib/cuda.so: glibc 2.28"],
    ["musl", "/lib/cuda.so: glibc 2.28"],
  ])("%s: %s", (word, found) => expect(failures(word, [cuda])).toEqual([`${word}: ${found}`]));

  it("is told all at once, each with its file", () => {
    const other = { ...cuda, path: "/lib/old.so", targets: ["sm_70"], uses: ["avx512f"] };
    expect(failures("sm_75 !sm_70 march<=x86-64-v3 sm_80", [cuda, other])).toEqual([
      "sm_75: all: sm_70 sm_80 sm_90a compute_90",
      "!sm_70: /lib/old.so: sm_70",
      "march<=x86-64-v3: /lib/old.so: compiled for avx512f (x86-64-v4)",
    ]);
    expect(failures("sm_80 ptx per-library", [cuda, other])).toEqual([
      "sm_80: /lib/old.so: sm_70",
      "ptx: /lib/old.so: sm_70",
    ]);
  });

  it("zstd in code of CUDA 12 raises the driver", () => {
    expect(failures("driver<=525", [{ ...cuda, isZstd: true }])).toEqual([
      "driver<=525: all: needs driver 550.54.14 (zstd-compressed code in /lib/cuda.so)",
    ]);
    expect(failures("driver<=550", [{ ...cuda, isZstd: true }])).toEqual([]);
    expect(failures("driver<=999", [cuda, { path: "/lib/libcuda.so.570.26" }])).toEqual([
      "driver<=999: /lib/libcuda.so.570.26: exactly 570.26 (bundled)",
    ]);
  });

  it("what may be used is apart from what is needed", () => {
    const asking = { ...cuda, uses: ["avx512f", "sgx"], asks: ["cpuid"] };
    expect(failures("march<=x86-64-v2", [asking])).toEqual([]);
    expect(failures("may-use<=x86-64-v3", [asking])).toEqual([
      "may-use<=x86-64-v3: /lib/cuda.so: avx512f (x86-64-v4)",
    ]);
  });

  it("PTX of one device alone serves no newer one", () => {
    expect(failures("ptx>=90", [{ ...cuda, targets: ["sm_90a", "compute_90a"] }])).toEqual([
      "ptx>=90: all: sm_90a compute_90a",
    ]);
  });

  it("an artifact without GPU code is none with it", () => {
    const cpu = { path: "/lib/cpu.so" };
    expect(failures("sm_80 ptx cuda==12 per-library no-gpu-code driver<=550 !sm_70", [cpu])).toEqual([
      "sm_80: all: no GPU code",
      "ptx: all: no GPU code",
      "cuda==12: all: no GPU code",
    ]);
  });

  it("each march is about its own architecture", () => {
    const arm = { path: "/lib/arm.so", machine: "aarch64", uses: ["asimddp"] };
    expect(failures("march<=x86-64-v3 march<=neoverse-n1", [cuda, arm])).toEqual([]);
    expect(failures("march<=x86-64-v2 march<=armv8-a", [cuda, arm])).toEqual([
      "march<=x86-64-v2: /lib/cuda.so: compiled for avx avx2 (x86-64-v3)",
      "march<=armv8-a: /lib/arm.so: not proved: may need asimddp (armv8.5-a)",
    ]);
    expect(failures("march<=x86-64-v3", [cuda, arm])).toEqual([
      "march<=x86-64-v3: /lib/arm.so: code for aarch64",
    ]);
  });

  it("musl is no glibc, and what names none is neither", () => {
    const musl = { path: "/lib/musl.so", libc: { name: "musl", version: null } } as const;
    expect(failures("glibc<=2.28", [musl])).toEqual(["glibc<=2.28: /lib/musl.so: musl"]);
    expect(failures("musl", [musl, { path: "/bin/static" }])).toEqual([]);
  });
});

describe("unknown never meets what is promised", () => {
  const shut = "/lib/x.7z: unknown: encrypted";

  it("where a file was not opened", () => {
    const words =
      "no-gpu-code gpu-code<=1GB driver<=550 march<=x86-64-v3 may-use<=x86-64-v4 glibc<=2.28 !ptx !sm_70";
    expect(failures(words, [{ path: "/lib/cpu.so" }], ["/lib/x.7z"])).toEqual(
      words.split(" ").map((word) => `${word}: ${shut}`),
    );
    expect(failures("sm_80 ptx", [cuda], ["/lib/x.7z"])).toEqual([]);
    expect(failures("sm_80", [{ path: "/lib/cpu.so" }], ["/lib/x.7z"])).toEqual([`sm_80: ${shut}`]);
    expect(failures("sm_75", [cuda], ["/lib/x.7z"])).toEqual([`sm_75: ${shut}`]);
    expect(failures("!sm_70", [], ["/a", "/b"])).toEqual([
      "!sm_70: /a: unknown: encrypted, and 1 more could not be read",
    ]);
  });

  it("where there was nothing to read", () => {
    expect(failures("march<=x86-64-v3 glibc<=2.28 musl sm_80 no-gpu-code", [])).toEqual([
      "march<=x86-64-v3: all: unknown: no program was found whose code is read",
      "glibc<=2.28: all: unknown: no program was found",
      "musl: all: unknown: no program was found",
      "sm_80: all: no GPU code",
    ]);
  });

  it("where GPU code is of a kind that nobody knows, or of several toolkits", () => {
    const strange = { ...cuda, unknownKind: 512 };
    const why = "GPU code of unknown kind (512)";
    expect(failures("!sm_70 driver<=550", [strange])).toEqual([
      `!sm_70: /lib/cuda.so: unknown: ${why}: any target may be in it`,
      `driver<=550: all: unknown: ${why}: more targets may be there`,
    ]);
    expect(failures("cuda==12", [cuda, { ...cuda, path: "/lib/b.so", toolkit: "13.0" }])).toEqual([
      "cuda==12: all: unknown: its files hold code of CUDA 12 (/lib/cuda.so) and 13 (/lib/b.so); which of them is loaded is not known",
    ]);
  });

  it("where instructions or machines are not known, for the CPU alone", () => {
    const odd = { path: "/lib/odd.so", unopened: ["3 unknown instructions inside functions"] };
    expect(failures("march<=x86-64-v3 glibc<=2.28 no-gpu-code", [odd])).toEqual([
      "march<=x86-64-v3: /lib/odd.so: unknown: 3 unknown instructions inside functions",
    ]);
  });
});

describe("a word that nobody knows", () => {
  it.each([
    ["sm_80 sm90", 7, "sm90 is no word that --expect knows", "did you mean sm_90?"],
    ["!SM_70", 1, "!SM_70 is no word that --expect knows", "did you mean !sm_70?"],
    [
      "  driver<=550 glib<=2.28",
      15,
      "glib<=2.28 is no word that --expect knows",
      "did you mean glibc<=2.28?",
    ],
    ["per-libary", 1, "per-libary is no word that --expect knows", "did you mean per-library?"],
    ["driver>=550", 1, "driver>=550 is not understood", "driver is written driver<=550"],
    ["cuda=12", 1, "cuda=12 is not understood", "cuda is written cuda==12"],
    ["musl<=1", 1, "musl<=1 is not understood", "musl is written musl"],
    [
      "march<=x86-64-v33",
      1,
      'march<=x86-64-v33: "x86-64-v33" is no value of march',
      "did you mean march<=x86-64-v3?",
    ],
    [
      "gpu-code<=500",
      1,
      'gpu-code<=500: "500" is no value of gpu-code',
      "gpu-code is written gpu-code<=500MB",
    ],
    ["ptx>=9", 1, 'ptx>=9: "9" is no value of ptx', "ptx is written ptx>=90"],
    ["!musl", 1, "!musl is no word that --expect knows", "did you mean musl?"],
    ["constructor", 1, "constructor is no word that --expect knows", "the words are sm_80"],
    ["  ", 1, "nothing is expected here", "write some of sm_80"],
    [
      "driver<=550 per-library",
      13,
      "per-library needs a word about targets or PTX",
      "write sm_80 per-library",
    ],
  ])("%s", (text, column, message, fix) => {
    const { problems } = parse(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ code: "EXPECT_INVALID", at: { column } });
    expect(problems[0]?.message).toContain(message);
    expect(problems[0]?.fix).toContain(fix);
  });

  it("is told with all others", () => expect(parse("sm90 sm_80 cuda=1 x").problems).toHaveLength(3));
});

it("a package's own tests count where no file may have something, and nowhere else", () => {
  const app = { path: "app/ops.so", targets: ["sm_90"], toolkit: "12.8" };
  const kernel = { path: "app/tests/kernel.so", targets: ["sm_50"], toolkit: "13.0" };
  const inspection = inspectionOf(madeImage(madePackage("app", app, kernel)));
  const { expectations } = parse("sm_90 sm_50 !sm_50 cuda<=12.8 gpu-code<=1500B");
  const failed = checkExpectations(inspection, expectations);
  expect(failed.map(({ expected, found }) => `${expected}: ${found}`)).toEqual([
    "sm_50: sm_90",
    "!sm_50: sm_50",
    "gpu-code<=1500B: 2000 B in 2 files",
  ]);
});
