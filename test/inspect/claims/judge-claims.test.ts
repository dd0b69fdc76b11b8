import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ClaimFile } from "../../../src/inspect/claims/claim-files.ts";
import { claimsOf } from "../../../src/inspect/claims/claims-of.ts";
import { judgeClaims } from "../../../src/inspect/claims/judge-claims.ts";
import { inspect } from "../../../src/inspect/inspect-subjects.ts";
import type { OpenedImage } from "../../../src/inspect/image/open-layers.ts";
import { inspectionOf, surveyOf } from "../../../src/inspect/inspection.ts";
import { makeZip } from "../support/make-zip.ts";
import { madeFile, madeImage, type MadeProgram, unopenedFile } from "../support/made-opened.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";
import { runInProcess } from "../../support/run-cli.ts";

interface Subject extends Partial<OpenedImage> {
  readonly subject?: string;
  readonly programs?: readonly MadeProgram[];
  readonly claims?: Readonly<Record<string, ClaimFile>>;
  readonly unopened?: readonly string[];
}

/** `claim (by): verdict: found: file` of each. */
function judged({
  subject = "registry.example.com/team/app:1",
  programs = [],
  claims = {},
  unopened = [],
  ...more
}: Subject) {
  const said = Object.entries(claims).map(
    ([path, claim]) =>
      ({ kind: "file", path, opened: { files: {}, unopened: {}, claims: { "": claim } } }) as const,
  );
  const image = {
    ...madeImage([...programs.map(madeFile), ...said, ...unopened.map((path) => unopenedFile(path))]),
    ...more,
  };
  const survey = surveyOf(image);
  return judgeClaims(claimsOf(image, survey, subject), inspectionOf(image, survey)).map(
    ({ claim, by, verdict, found, file }) =>
      `${claim} (${by}): ${[verdict, found, file].filter(Boolean).join(": ")}`,
  );
}

const v3: MadeProgram = { path: "/app/v3.so", uses: ["avx", "avx2", "fma"] };
const plain: MadeProgram = { path: "/app/plain.so", uses: [] };
const needsV4: MadeProgram = { path: "/app/v4.so", neededLevel: "x86-64-v4" };
const unread: MadeProgram = { path: "/app/unread.so", isUnread: true };
const asks: MadeProgram = { path: "/app/asks.so", uses: ["avx2"], asks: ["cpuid"] };

describe("the variant of an index's row", () => {
  const row = (variant: string, ...programs: readonly MadeProgram[]) =>
    judged({ row: `linux/amd64/${variant}`, programs });
  it.each([
    ["v3", [v3, plain], "true"],
    ["v3", [v3, needsV4], "too narrow: needs avx512bw avx512cd avx512dq avx512f avx512vl: /app/v4.so"],
    ["v2", [v3], "not provable: compiled for avx avx2 fma: /app/v3.so"],
    ["v3", [plain], "too wide: no file uses more than x86-64"],
    ["v4", [v3], "too wide: no file uses more than x86-64-v3"],
    ["v3", [asks], "not provable: no file needs more than x86-64, and one may use more: /app/asks.so"],
    ["v3", [], "not provable: no program for amd64 was found"],
    ["v9", [v3], "not provable: no table has this CPU"],
  ] as const)("%s of %j", (variant, programs, answer) =>
    expect(row(variant, ...programs)).toEqual([`variant ${variant} (the index): ${answer}`]),
  );

  it("is not provable beside a file that was not opened", () =>
    expect(judged({ row: "linux/amd64/v3", programs: [plain], unopened: ["/app/x.7z"] })).toEqual([
      "variant v3 (the index): not provable: encrypted: /app/x.7z",
    ]));

  it("is not provable where the GPU alone was asked for", () =>
    expect(judged({ row: "linux/amd64/v3", programs: [plain, unread] })).toEqual([
      "variant v3 (the index): not provable: its code for amd64 was not read: /app/unread.so",
    ]));
});

describe("an image named for a CPU that holds code of an older one", () => {
  const v1 = ["asimd", "asimddp", "asimdhp", "atomics", "fp", "fphp", "sve"];
  const arm = (subject: string, uses: readonly string[]) =>
    judged({ subject, platform: "linux/arm64", programs: [{ path: "/opt/x.so", machine: "aarch64", uses }] });

  it("is found", () => {
    expect(arm("ghcr.io/team/palace:0.14-neoverse_v2", v1)).toEqual([
      "neoverse-v2 (the name): too wide: no file uses more than neoverse-v1",
    ]);
    expect(arm("ghcr.io/team/palace:0.14-neoverse_v2", [...v1, "sve2"])).toEqual([
      "neoverse-v2 (the name): true",
    ]);
    expect(arm("ghcr.io/team/palace:0.14-neoverse_n1", [...v1, "sve2"])).toEqual([
      "neoverse-n1 (the name): not provable: holds code for sve sve2: /opt/x.so",
    ]);
    expect(arm("ghcr.io/team/palace:0.14", v1)).toEqual([]);
  });

  const compiler = "aarch64-linux-gnu-gcc";
  const whyNoGcc = whyNot(compiler, ["-mcpu=neoverse-v1", "-x", "c", "-E", "-"], {
    install: "apt-get install gcc-aarch64-linux-gnu",
  });
  it("is found in what gcc compiled", needs(whyNoGcc), async () => {
    const folder = makeFolder({
      "x.c": "void f(float *a, const float *b, int n) { for (int i = 0; i < n; i++) a[i] += b[i] * a[i]; }\n",
    });
    const compile = (cpu: string, out: string) => {
      mkdirSync(join(folder, dirname(out)), { recursive: true });
      const args = ["-O3", "-shared", "-nostdlib", "-fPIC", `-mcpu=${cpu}`, "x.c", "-o", out];
      expect(spawnSync(compiler, args, { cwd: folder, encoding: "utf8" }).stderr).toBe("");
    };
    compile("neoverse-v1", "app-neoverse_v1/f.so");
    compile("neoverse-v1", "app-neoverse_v2/f.so");
    const verdicts = async (name: string) =>
      (await inspect({ subjects: [`./${name}`], expect: "claims", cache: false }, { cwd: folder, env: {} }))
        .subjects[0]?.claims;
    expect(await verdicts("app-neoverse_v1")).toMatchObject([{ claim: "neoverse-v1", verdict: "true" }]);
    expect(await verdicts("app-neoverse_v2")).toMatchObject([{ claim: "neoverse-v2", verdict: "too wide" }]);
  });
});

describe("what a wheel says", () => {
  const wheel = (
    tags: string,
    programs: readonly MadeProgram[],
    features?: readonly { name: string; values: string[] }[],
  ) => {
    const name = `app-1-cp312-cp312-${tags}.whl`;
    const inside = programs.map((program) => ({ ...program, path: `/${name}!${program.path}` }));
    const path = `${name}!/app-1.dist-info/variant.json`;
    const label = tags.split("-")[1] ?? "";
    const claims = features === undefined ? {} : { [path]: { kind: "variant", label, features } as const };
    return judged({ subject: `dist/${name}`, platform: null, programs: inside, claims }).map((line) =>
      line.replaceAll(`/${name}!`, "").replace("(the tags of its name)", "(tags)"),
    );
  };
  const glibc = (version: string, more: Partial<MadeProgram> = {}): MadeProgram => ({
    path: "/a.so",
    libc: { name: "glibc", version },
    ...more,
  });

  it("in its tags: architecture, libc, and that every CPU of the architecture does", () => {
    const tag = "manylinux_2_28_x86_64";
    const all = (...verdicts: readonly string[]) => verdicts.map((verdict) => `${tag} (tags): ${verdict}`);
    expect(wheel(tag, [glibc("2.28")])).toEqual(all("true", "true", "true"));
    expect(wheel(tag, [glibc("2.34")])).toEqual(all("true", "true", "too narrow: glibc 2.34: /a.so"));
    expect(wheel(tag, [glibc("2.17", { neededLevel: "x86-64-v2" })])[1]).toMatch(
      /: too narrow: needs .*sse4_2.*: \/a\.so$/,
    );
    expect(wheel(tag, [{ path: "/b.so", machine: "aarch64" }])[0]).toBe(
      `${tag} (tags): too narrow: a program for aarch64: /b.so`,
    );
    expect(wheel("any", [plain])).toEqual(["any (tags): too narrow: a program for x86_64: /app/plain.so"]);
    expect(wheel("musllinux_1_2_x86_64", [glibc("2.17")])[2]).toMatch(/too narrow: glibc 2\.17/);
  });

  const cuda = { ...glibc("2.28"), targets: ["sm_80", "sm_90", "compute_90"], toolkit: "12.8" };
  const features = (least: string, ...targets: readonly string[]) => [
    { name: "nvidia :: cuda_version_lower_bound", values: [least] },
    { name: "nvidia :: sm_arch", values: [...targets] },
  ];
  it("in its variant: drivers and targets", () => {
    const ofVariant = (...asked: Parameters<typeof features>) =>
      wheel("linux_x86_64-cu128", [cuda], features(...asked)).filter((line) => line.includes("variant.json"));
    expect(ofVariant("12.8", "80_real", "90_virtual")).toEqual([
      "nvidia :: cuda_version_lower_bound :: 12.8 (its variant.json): true",
      "nvidia :: sm_arch :: 80_real (its variant.json): true",
      "nvidia :: sm_arch :: 90_virtual (its variant.json): true",
    ]);
    expect(ofVariant("11.8", "70_real").slice(0, 2)).toEqual([
      "nvidia :: cuda_version_lower_bound :: 11.8 (its variant.json): too narrow: needs a driver of CUDA 12.0: /a.so",
      "nvidia :: sm_arch :: 70_real (its variant.json): too wide: no code for sm_70: /a.so",
    ]);
    expect(ofVariant("13.0", "80_real")[0]).toMatch(/: too wide: its newest code is of CUDA 12\.8/);
  });

  it("in its variant: levels and features of CPUs, which its tags then do not deny", () => {
    const level = [
      { name: "x86_64 :: level", values: ["v3"] },
      { name: "x86_64 :: avx512f", values: ["on"] },
    ];
    expect(wheel("linux_x86_64-x8664v3", [v3], level)).toEqual([
      "linux_x86_64 (tags): true",
      "x86_64 :: level :: v3 (its variant.json): true",
      "x86_64 :: avx512f :: on (its variant.json): too wide: no file uses it",
    ]);
    expect(wheel("linux_x86_64-x8664v3", [{ ...v3, uses: ["avx2", "avx512f"] }], level).slice(1)).toEqual([
      "x86_64 :: level :: v3 (its variant.json): true",
      "x86_64 :: avx512f :: on (its variant.json): true",
    ]);
    expect(wheel("linux_x86_64-x", [v3], [{ name: "blas :: library", values: ["mkl"] }]).at(-1)).toBe(
      "blas :: library :: mkl (its variant.json): not provable: nobody knows this claim",
    );
    expect(wheel("linux_x86_64-x", [v3]).at(-1)).toBe(
      "variant x (the label of its name): not provable: it holds no variant.json",
    );
  });
});

describe("labels and records", () => {
  const cuda: MadeProgram = { path: "/a.so", targets: ["sm_80", "compute_80"], toolkit: "12.4" };

  it("of imgmatch and NVIDIA", () => {
    const requires = {
      cpu: { march: "x86-64-v3", features: [] },
      cuda: { toolkit: "12.4.1", code: ["sm_80", "sm_90"], driver: { mode: "host", minimum: "525.60.13" } },
    };
    const labels = { "dev.imgmatch.requires": JSON.stringify(requires), "com.nvidia.cuda.version": "12.8.1" };
    const start = { env: { NVIDIA_REQUIRE_CUDA: "cuda>=11.8 brand=tesla" }, command: [], folder: "/" };
    const by = "(the label dev.imgmatch.requires)";
    expect(judged({ programs: [cuda, v3], labels, start })).toEqual([
      `x86-64-v3 ${by}: true`,
      `CUDA 12.4.1 ${by}: true`,
      `sm_80 ${by}: true`,
      `sm_90 ${by}: too wide: no code for sm_90: /a.so`,
      "CUDA 12.8.1 (the label com.nvidia.cuda.version): too wide: CUDA 12.4: /a.so",
      "cuda>=11.8 (NVIDIA_REQUIRE_CUDA): too narrow: needs a driver of CUDA 12.0: /a.so",
    ]);
    expect(judged({ programs: [plain], labels: { "dev.imgmatch.requires": "{" } })[0]).toMatch(
      /: not provable: it cannot be read/,
    );
  });

  it("of kernels of Hugging Face, and of conda's packages", () => {
    const kernel = (backend: string, ...archs: readonly string[]) =>
      ({ kind: "kernel", backend, archs }) as const;
    const file = { ...cuda, path: "/k/build/torch29-cu126/ops.so" };
    const at = "k/build/torch29-cu126/metadata.json";
    expect(
      judged({
        programs: [file, { ...cuda, path: "/other.so", targets: ["sm_90"] }],
        claims: { [at]: kernel("cuda", "8.0", "9.0a") },
      }),
    ).toEqual([`cuda 8.0 (/${at}): true`, `cuda 9.0a (/${at}): too wide: no code for sm_90a: ${file.path}`]);
    expect(judged({ programs: [file], claims: { [at]: kernel("cpu") } })).toEqual([
      `cpu (/${at}): too narrow: GPU code: ${file.path}`,
    ]);
    const conda = {
      kind: "conda",
      name: "app",
      needs: ["__archspec 1 x86_64_v3", "__cuda_arch >=9.0", "__cuda_arch >=8.0", "__archspec"],
    } as const;
    expect(
      judged({ programs: [cuda, v3], claims: { "x.conda!/info/index.json": conda } }).map((line) =>
        line.replace(/ \(.*?\)/, ""),
      ),
    ).toEqual([
      "__archspec 1 x86_64_v3: true",
      "__cuda_arch >=9.0: true",
      "__cuda_arch >=8.0: true",
      "__archspec: not provable: nobody knows this claim",
    ]);
  });
});

describe("imgmatch inspect --expect claims", () => {
  it("exits 1 unless each claim is true, and where nothing is claimed", async () => {
    const text = (value: unknown) => Buffer.from(JSON.stringify(value));
    const wheel = (label: string, variants: unknown) =>
      makeZip([
        { path: "app/__init__.py", content: Buffer.from("x = 1\n") },
        { path: "app-1.dist-info/variant.json", content: text({ variants }) },
        { path: "app-1.dist-info/METADATA", content: Buffer.from(`Name: ${label}\n`) },
      ]);
    const folder = makeFolder({});
    const good = "app-1-py3-none-any-null.whl";
    const bad = "app-1-py3-none-any-cu128.whl";
    writeFileSync(join(folder, good), wheel("null", { null: {} }));
    writeFileSync(join(folder, bad), wheel("cu128", { cu128: { nvidia: { sm_arch: ["90_real"] } } }));
    mkdirSync(join(folder, "empty"));
    const run = (...subjects: readonly string[]) =>
      runInProcess(["inspect", ...subjects, "--expect", "claims"], { env: { HOME: folder }, cwd: folder });
    const whole = await run(good);
    expect(whole.out).toBe(
      `as expected: ${good}\n  CLAIM  BY                    VERDICT\n  any    the tags of its name  true\n`,
    );
    expect(whole.exit).toBe(0);
    const failed = await run(bad);
    expect(failed.out).toContain(
      "nvidia :: sm_arch :: 90_real (its variant.json) is too wide: no code for sm_90",
    );
    expect(failed.exit).toBe(1);
    const empty = await run("./empty");
    expect(empty.out).toContain("unknown: it claims nothing that is known");
    expect(empty.exit).toBe(1);
  });
});
