/** `imgmatch inspect --expect`: a gate for wheels, and wheels that were changed behind its back. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { layoutFiles, makeImage, makeTar, type MadeFile } from "../inspect/support/make-image.ts";
import { makeLayout } from "../inspect/support/make-layout.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoGcc } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

const sass = (arch: number) => makeEntry({ kind: 2, arch, version: [1, 7] });
const ptx = (more = {}) => makeEntry({ kind: 1, arch: 90, version: [8, 4], ...more });
const kernels = (...entries: readonly Buffer[]): MadeFile => ({
  path: "app/kernels.fatbin",
  content: makeContainer(entries),
});
const good = kernels(sass(80), sass(90), ptx());

/** A folder with these wheels. */
function wheels(made: Readonly<Record<string, readonly MadeFile[]>>): string {
  const folder = makeFolder({});
  for (const [name, files] of Object.entries(made)) writeFileSync(join(folder, name), makeZip(files));
  return folder;
}

const run = (args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) =>
  runInProcess(["inspect", ...args], { cwd, env });

describe("imgmatch inspect --expect", () => {
  const words = "sm_80 sm_90 ptx>=90 !sm_70 driver<=525 gpu-code<=1KB";

  it("says of each artifact whether it is as expected, all that is not at once, and exits 1", async () => {
    const cwd = wheels({ "a.whl": [good], "b.whl": [kernels(sass(70), sass(90))] });
    const { exit, out } = await run(["a.whl", "./b.whl", "--expect", words], cwd);
    expect(exit).toBe(1);
    expect(out).toMatchInlineSnapshot(`
      "as expected: a.whl
      not as expected: ./b.whl
        EXPECTED     FOUND                                                  FILE
        sm_80        sm_70 sm_90
        ptx>=90      sm_70 sm_90
        !sm_70       sm_70                                                  /app/kernels.fatbin
        driver<=525  unknown: no file says which toolkit made its GPU code
      "
    `);
    expect((await run(["a.whl", "--expect", words], cwd)).exit).toBe(0);
  });

  it("is the same for images, folders, archives and lone files", async () => {
    const cwd = makeFolder({});
    const { path, content = Buffer.alloc(0) } = good;
    mkdirSync(join(cwd, "dist/app"), { recursive: true });
    writeFileSync(join(cwd, "dist", path), content);
    writeFileSync(join(cwd, "lib.fatbin"), content);
    writeFileSync(join(cwd, "app.tar"), makeTar([good]));
    const image = makeImage([makeTar([good])]);
    writeFileSync(join(cwd, "image.tar"), makeTar(layoutFiles(image)));
    const subjects = [makeLayout(image), "image.tar", "app.tar", "lib.fatbin", "./dist"];
    const flags = ["--no-cache", "--platform", "linux/amd64", "--expect"];
    expect(await run([...subjects, ...flags, words], cwd)).toMatchObject({ exit: 0, err: "" });
    const { exit, out } = await run([...subjects, ...flags, "sm_75"], cwd);
    expect([exit, out.match(/^not as expected/gm)?.length]).toEqual([1, subjects.length]);
  });

  it("is read before anything is opened", async () => {
    const { exit, err } = await run(["nowhere.whl", "--expect", "sm_80 drivr<=550"], "/");
    expect(exit).toBe(2);
    expect(err).toMatchInlineSnapshot(`
      "--expect:7: EXPECT_INVALID: drivr<=550 is no word that --expect knows
        sm_80 drivr<=550
              ^
        fix: did you mean driver<=550? the words are sm_80 !sm_70 compute_90 gfx90a ptx>=90 no-gpu-code gpu-code<=500MB cuda==12 driver<=550 claims glibc<=2.28 musl march<=x86-64-v3 may-use<=x86-64-v4 per-library
      "
    `);
  });

  it("answers programs with the same", async () => {
    const cwd = wheels({ "b.whl": [kernels(sass(70))] });
    const { exit, out } = await run(["b.whl", "--expect", "sm_80 !sm_70", "--json"], cwd);
    expect(exit).toBe(1);
    const { subjects, expected } = JSON.parse(out);
    expect(subjects).toMatchObject([
      { subject: "b.whl", source: "file", gpu: { targets: [{ target: "sm_70" }] } },
    ]);
    const at = { file: "--expect", text: "sm_80 !sm_70" };
    expect(expected).toEqual({
      failures: [
        {
          subject: "b.whl",
          kind: "target",
          expected: "sm_80",
          found: "sm_70",
          file: null,
          isUnknown: false,
          at: { ...at, column: 1 },
        },
        {
          subject: "b.whl",
          kind: "target",
          expected: "!sm_70",
          found: "sm_70",
          file: "/b.whl!/app/kernels.fatbin",
          isUnknown: false,
          at: { ...at, column: 7 },
        },
      ],
      unmatched: [],
    });
  });

  it("annotates a run of GitHub Actions, in the file that expects it", async () => {
    const cwd = wheels({ "b,1.whl": [kernels(sass(70))], "c.whl": [good] });
    writeFileSync(join(cwd, "expect.yaml"), '"b*.whl": "!sm_70"\n"d*": sm_80\n');
    const { exit, err, out } = await run(["b,1.whl", "c.whl", "--expect-file", "expect.yaml"], cwd, {
      GITHUB_ACTIONS: "true",
    });
    expect(exit).toBe(1);
    expect(err).toMatchInlineSnapshot(`
      "::error file=expect.yaml,line=1,col=12,title=!sm_70::b,1.whl: expected !sm_70, found sm_70 in /b,1.whl!/app/kernels.fatbin
      ::error file=expect.yaml,line=2,col=1,title=d*::expected d*, found nothing that this pattern is about
      "
    `);
    expect(out).toMatchInlineSnapshot(`
      "not as expected: b,1.whl
        EXPECTED  FOUND  FILE
        !sm_70    sm_70  /app/kernels.fatbin
      nothing expected: c.whl
      expect.yaml:2:1: d*: nothing that this pattern is about
      "
    `);
    const flag = await run(["b,1.whl", "--expect", "sm_80"], cwd, { GITHUB_ACTIONS: "true" });
    expect(flag.err).toBe("::error title=sm_80::b,1.whl: expected sm_80, found sm_70\n");
  });

  it("lets no name of a file begin a workflow command", async () => {
    const name = "::stop-commands::x.whl";
    const old = "##[add-mask]y.whl";
    const cwd = wheels({ [name]: [good], [old]: [good] });
    const github = { GITHUB_ACTIONS: "true" };
    for (const args of [
      [name, old],
      [name, old, "--expect", "sm_70"],
      [name, old, "--json"],
    ]) {
      const { out, err } = await run(args, cwd, github);
      const own = "::error title=sm_70::";
      const lines = `${out}${err}`.split("\n").filter((line) => !line.startsWith(own));
      expect(lines.filter((line) => /^\s*::|##\[/.test(line))).toEqual([]);
      expect(lines.join("\n")).toContain("stop-commands::x.whl");
      if (args.includes("--json")) expect(JSON.stringify(JSON.parse(out))).toContain(old);
    }
    expect((await run([name], cwd)).out).toMatch(/^::stop-commands::x\.whl$/m);
  });

  it("writes SARIF, over a report of its own alone", async () => {
    const cwd = wheels({ "b 1.whl": [kernels(sass(70))] });
    writeFileSync(join(cwd, "expect.yaml"), '"*.whl": sm_80\n');
    const sarif = async (...args: readonly string[]) => {
      const { exit } = await run(["b 1.whl", ...args, "--sarif", "out.sarif"], cwd);
      return [exit, JSON.parse(readFileSync(join(cwd, "out.sarif"), "utf8"))];
    };
    const [exit, log] = await sarif("--expect", "sm_80 !sm_70");
    expect(exit).toBe(1);
    expect(log).toMatchObject({
      version: "2.1.0",
      runs: [{ tool: { driver: { name: "imgmatch", rules: [{ id: "target" }] } } }],
    });
    const physicalLocation = {
      artifactLocation: { uri: "b%201.whl" },
      region: { startLine: 1, startColumn: 1 },
    };
    expect(log.runs[0].results).toEqual([
      {
        ruleId: "target",
        ruleIndex: 0,
        level: "error",
        message: { text: "b 1.whl: expected sm_80, found sm_70" },
        locations: [{ physicalLocation }],
      },
      {
        ruleId: "target",
        ruleIndex: 0,
        level: "error",
        message: { text: "b 1.whl: expected !sm_70, found sm_70 in /b 1.whl!/app/kernels.fatbin" },
        locations: [
          {
            physicalLocation,
            logicalLocations: [{ fullyQualifiedName: "/b 1.whl!/app/kernels.fatbin" }],
          },
        ],
      },
    ]);
    const [, ofFile] = await sarif("--expect-file", "expect.yaml");
    expect(ofFile.runs[0].results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: "expect.yaml" },
      region: { startLine: 1, startColumn: 10 },
    });
    const [fine, empty] = await sarif("--expect", "sm_70");
    expect([fine, empty.runs[0].results]).toEqual([0, []]);
    const over = await run(["b 1.whl", "--expect", "sm_70", "--sarif", "b 1.whl"], cwd);
    expect([over.exit, over.err]).toEqual([
      2,
      expect.stringContaining("is not a SARIF report that imgmatch wrote"),
    ]);
  });

  it.each([
    [["--expect", "sm_80", "--expect-file", "x.yaml"], "keep one"],
    [["--sarif", "x.sarif"], "add --expect or --expect-file"],
    [["--expect-file", "x.yaml"], "FILE_NOT_FOUND"],
    [["--expect", ""], "nothing is expected here"],
  ])("%j is refused", async (args, message) => {
    const { exit, err } = await run(["a.whl", ...args], makeFolder({}));
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
    expect(existsSync("x.sarif")).toBe(false);
  });
});

const whyNoX86 = process.arch === "x64" ? null : "no x86-64 CPU";

describe("a wheel that was changed", needs(whyNoGcc(), whyNoX86), () => {
  const words = "sm_80 sm_90 ptx>=90 !sm_70 driver<=525 march<=x86-64-v3 glibc<=2.17 cuda==12";
  const source = "typedef double v __attribute__((vector_size(64)));\nvoid f(v *a, v *b) { *a += *b; }\n";
  const libraries = new Map<string, MadeFile>();
  beforeAll(() => {
    const cwd = makeFolder({ "a.c": source, "b.c": "int gettid(void);\nint g(void) { return gettid(); }\n" });
    const build = (name: string, file: string, ...args: readonly string[]) => {
      execFileSync("gcc", ["-O2", "-shared", "-fPIC", ...args, file, "-o", name], { cwd });
      libraries.set(name, { path: `app/${name}`, content: readFileSync(join(cwd, name)) });
    };
    build("plain.so", "a.c", "-mavx2", "-nostdlib");
    build("wide.so", "a.c", "-mavx512f", "-nostdlib");
    // gettid came with glibc 2.30.
    build("new.so", "b.c", "-Wl,--no-as-needed");
  });
  const library = (name: string): MadeFile => libraries.get(name) ?? { path: name };
  const failed = async (files: readonly MadeFile[], expected = words) => {
    const { exit, out } = await run(["a.whl", "--expect", expected, "--json"], wheels({ "a.whl": files }));
    const { failures } = JSON.parse(out).expected;
    expect(exit).toBe(failures.length === 0 ? 0 : 1);
    return failures.map((each: Record<string, unknown>) => `${each.expected}: ${each.found}: ${each.file}`);
  };

  it("passes before", async () => expect(await failed([good, library("plain.so")])).toEqual([]));

  it("fails without a target", async () => {
    expect(await failed([kernels(sass(80), ptx()), library("plain.so")])).toEqual([
      "sm_90: sm_80 compute_90: null",
    ]);
  });

  it("fails without a target that a bundled library has, where each has to have it", async () => {
    const bundled = { ...good, path: "app.libs/libnvjpeg.so.12" };
    const lost = [kernels(sass(80), ptx()), bundled, library("plain.so")];
    expect(await failed(lost)).toEqual([]);
    expect(await failed(lost, `${words} per-library`)).toEqual([
      "sm_90: sm_80 compute_90: /a.whl!/app/kernels.fatbin",
    ]);
  });

  it("fails with zstd in code of CUDA 12", async () => {
    const zstd = ptx({ flags: 0x8011, compressedSize: 9 });
    expect(await failed([kernels(sass(80), sass(90), zstd), library("plain.so")])).toEqual([
      "driver<=525: needs driver 550.54.14 (zstd-compressed code in /a.whl!/app/kernels.fatbin): null",
    ]);
  });

  it("fails with AVX-512 in one library", async () => {
    expect(await failed([good, library("plain.so"), library("wide.so")])).toEqual([
      "march<=x86-64-v3: compiled for avx512f (x86-64-v4): /a.whl!/app/wide.so",
    ]);
  });

  it("fails with a newer glibc", async () => {
    expect(await failed([good, library("plain.so"), library("new.so")])).toEqual([
      "glibc<=2.17: glibc 2.30: /a.whl!/app/new.so",
    ]);
  });

  it("fails with a library cut off, as nobody knows what was in it", async () => {
    const { path, content = Buffer.alloc(0) } = library("plain.so");
    const found = await failed([
      good,
      library("plain.so"),
      { path: `${path}.2`, content: content.subarray(0, 5000) },
    ]);
    expect(found.map((each: string) => each.replace(/unknown: .*?:/, "unknown:"))).toEqual(
      ["!sm_70", "driver<=525", "march<=x86-64-v3", "glibc<=2.17", "cuda==12"].map((word) =>
        expect.stringContaining(`${word}: unknown:`),
      ),
    );
  });
});
