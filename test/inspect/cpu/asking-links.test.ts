/** The question for the CPU's features, from file to file: small libraries by gcc, and packages that everybody has. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { inspect } from "../../../src/inspect/inspect-subjects.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc } from "../../support/programs.ts";

const whyNot = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

const asking = `static int ask(void) {
  int a = 7, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b;
}
#define OUT __attribute__((noinline))
static OUT int one(void) { return ask() & 1; }
static OUT int two(void) { return one() + 1; }
static OUT int three(void) { return two() + 1; }
static OUT int four(void) { return three() + 1; }
int asks(void) { return ask(); }
int calls_one(void) { return one() * 3; }
int calls_two(void) { return two() * 3; }
int calls_four(void) { return four() * 3; }
int never(void) { return 3; }
`;

/** Hand-written assembly, as nasm's, has neither unwinding data nor symbols of functions. */
const assembly = `__asm__(".text\\n.skip 8192, 0x90\\nhidden_ask:\\nxor %ecx,%ecx\\ncpuid\\nmov %ebx,%eax\\nret\\n.skip 8192, 0x90\\n");
int hidden_ask(void) __attribute__((visibility("hidden")));
int by_assembly(void) { return hidden_ask() + 1; }
int never(void) { return 3; }
`;

async function answersOf(source: string, ...options: readonly string[]) {
  const cwd = makeFolder({ "a.c": source });
  execFileSync(
    "gcc",
    ["-O1", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "a.c", "-o", "a.so", ...options],
    { cwd },
  );
  return (await inspectFile(memorySource(readFileSync(join(cwd, "a.so"))), false))?.cpu?.answersBy;
}

describe("exported functions that ask", needs(whyNot), () => {
  it("reach cpuid by at most three calls", async () => {
    const names = ["asks", "calls_one", "calls_two"];
    expect(await answersOf(asking)).toEqual(names);
    expect(await answersOf(asking, "-s")).toEqual(names);
  });

  it("reach cpuid in hand-written assembly too", async () =>
    expect(await answersOf(assembly, "-s")).toEqual(["by_assembly"]));

  it("are found behind more calls than are kept", async () => {
    const calls = `__asm__(".text\\nlast: ret\\n.globl first\\n.type first,@function\\nfirst:\\n.rept 9000\\ncall last\\n.endr\\nret\\n.size first,.-first\\n");\n`;
    expect(await answersOf(calls + asking)).toEqual(["asks", "calls_one", "calls_two"]);
  });

  it("are none where nothing asks", async () =>
    expect(await answersOf("int f(int x) { return x + 1; }\n")).toEqual([]));
});

const packages = process.env.IMGMATCH_CPU_PACKAGES;

describe(
  "public packages",
  needs(
    packages === undefined
      ? "no real packages (IMGMATCH_CPU_PACKAGES=/folder, as .ci/provide cpu-packages fills it)"
      : null,
  ),
  () => {
    const read = async (name: string) => {
      const { subjects } = await inspect({ subjects: [join(packages ?? "", name)] });
      const [found] = subjects;
      if (found === undefined) throw new Error("not read");
      return found;
    };

    it("Debian's libavcodec chooses through libavutil", async () => {
      const { requires, files } = await read("ffmpeg");
      const answers = new Map(files.map(({ path, answer }) => [path.replace(/^.*\//, ""), answer]));
      expect(requires.cpu).toEqual({ level: "x86-64", features: [], compiledFor: [], undecided: [] });
      expect(answers.get("libavcodec.so.59.37.100")?.asks).toContain("av_get_cpu_flags of libavutil.so.57");
      expect(answers.get("libswscale.so.6.7.100")?.asks).toEqual(["av_get_cpu_flags of libavutil.so.57"]);
      expect(answers.get("libswscale.so.6.7.100")?.features).toMatchObject({ avx2: "mayBeUsed" });
    });

    it("OpenCV's wheel asks, and so do the libraries beside it", async () => {
      const { requires } = await read("opencv");
      // Its constructors reach SSE3, not on every path, and its build information says "Baseline: SSE SSE2 SSE3".
      expect(requires.cpu).toMatchObject({ features: ["pni"], compiledFor: ["pni"] });
    });
  },
);
