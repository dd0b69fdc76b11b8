import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { gzipped, makeImage, makeTar } from "../inspect/support/make-image.ts";
import { makeLayout } from "../inspect/support/make-layout.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { inspectLines } from "../../src/cli/inspect-lines.ts";
import { styleFor } from "../../src/cli/report/style.ts";
import { inspectionOf } from "../../src/inspect/inspection.ts";
import { madeFile, madeImage, madePackage, sitePackages } from "../inspect/support/made-opened.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";
import { whyNoCompiler } from "../support/programs.ts";

const whyNoRiscv = whyNoCompiler("riscv64-linux-gnu-gcc", "apt-get install g++-riscv64-linux-gnu");

const zstd = { flags: 0x8011, compressedSize: 9 };
const files = [
  {
    path: "app/kernels.fatbin",
    content: Buffer.concat([
      makeContainer([
        makeEntry({ kind: 2, arch: 80, version: [1, 7] }),
        makeEntry({ kind: 8, arch: 80, version: [1, 67] }),
      ]),
      makeContainer([
        makeEntry({ kind: 2, arch: 80, version: [1, 7] }),
        makeEntry({ kind: 1, arch: 90, version: [8, 7], ...zstd }),
      ]),
    ]),
  },
  { path: "app/new.fatbin", content: makeContainer([makeEntry({ kind: 77, arch: 200 })]) },
  { path: "opt/hpc.deb", content: Buffer.from("!<arch>\ndebian-binary".padEnd(600)) },
  { path: "usr/lib/libcudart.so.12.8.90", content: Buffer.from("x") },
];

let folder = "";
beforeAll(() => {
  folder = makeLayout(makeImage([gzipped(makeTar(files))]));
});

async function run(args: readonly string[], animated = false) {
  return runInProcess(["inspect", folder, "--no-cache", "--platform", "linux/amd64", ...args], {
    cwd: "/",
    terminal: {
      animated,
      interactive: false,
      columns: 200,
      width: Number.POSITIVE_INFINITY,
      color: { out: false, err: false },
    },
  });
}

describe("imgmatch inspect", () => {
  it("reads a folder that is there, and asks nobody for an image of its name", async () => {
    const { exit, out, err } = await runInProcess(
      ["inspect", `${basename(folder)}/.`, "--no-cache", "--platform", "linux/amd64", "--json"],
      { cwd: dirname(folder) },
    );
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    expect(JSON.parse(out)).toMatchObject({ subjects: [{ source: "layout" }], expected: null });
  });

  it("says for people what is in an image and what it needs", async () => {
    const { exit, out, err } = await run([]);
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    const text = out.replace(/sha256:[0-9a-f]{64}/, "sha256:…").replaceAll(folder, "IMAGE");
    expect(text).toMatchInlineSnapshot(`
      "IMAGE
        sha256:…  linux/amd64  1 layer, 0 MiB  2 programs

        FILE                 CPU  GPU
        /app/kernels.fatbin       sm_80×2 compute_90×1 lto:compute_80 zstd
        /app/new.fatbin           unknown kind 77

      Not opened
        /opt/hpc.deb: packed in a format that is not read (ar)

      Bytes of its code: 448 B in 2 files
        sm_80       160 B  35.7 %
        compute_90  80 B   17.9 %
        lto_80      80 B   17.9 %
        unknown     80 B   17.9 %

      What this image needs of a host
        CPU          x86_64, x86-64
        features     none beyond the baseline
        GPU code     sm_80 compute_90
        toolkit      12.8 (/app/kernels.fatbin)
        driver       at least 550.54.14 (zstd-compressed code in /app/kernels.fatbin)
        not decided  GPU code of unknown kind (77): more targets may be there
      "
    `);
  });

  it("counts the modules of a file and of the image in one way, what the device linker left apart", async () => {
    const path = "/usr/lib/libnccl.so.2";
    const relocatable = [
      { target: "sm_120", modules: 75 },
      { target: "compute_120", modules: 129 },
    ];
    const library = madeFile({ path, targets: ["sm_90", "compute_120"], relocatable });
    const inspection = inspectionOf(madeImage([library]));
    expect(inspection.gpu?.targets).toEqual([
      { target: "sm_90", files: 1, modules: 1, relocatable: 0 },
      { target: "compute_120", files: 1, modules: 1, relocatable: 129 },
    ]);
    const lines = inspectLines({ ...inspection, subject: "x" }, { allFiles: false, style: styleFor(false) });
    expect(lines.join("\n")).toContain("sm_90×1 compute_120×1 rdc:compute_120×129");
  });

  it("says which file is linked with what the driver of JetPack 7 no longer has", () => {
    const infer = madeFile({
      ...{ path: "/usr/lib/libnvinfer.so.10", needed: ["libnvdla_compiler.so"] },
      ...{ targets: ["sm_87"], toolkit: "12.6" },
    });
    const options = { allFiles: false, style: styleFor(false) };
    expect(inspectLines(inspectionOf(madeImage([infer])), options).join("\n")).toContain(
      "at least 525.60.13; not that of JetPack 7, which has no libnvdla_compiler.so: /usr/lib/libnvinfer.so.10 is linked with it",
    );
  });

  it("shows names that a terminal would act on as every other report does", async () => {
    const hostile = makeLayout(
      makeImage([
        gzipped(
          makeTar([
            {
              path: "app/a\u001b[2J\n\u202eb.deb",
              content: Buffer.from("!<arch>\ndebian-binary".padEnd(600)),
            },
          ]),
        ),
      ]),
    );
    const { out } = await runInProcess(["inspect", hostile, "--no-cache", "--platform", "linux/amd64"], {
      cwd: "/",
    });
    expect(out).toContain("  /app/a\\u001b[2J\\u000a\\u202eb.deb: packed in a format");
  });

  it("lists files of packages' own tests apart, and names the file behind the toolkit", () => {
    const app = { path: "app/ops.so", targets: ["sm_90"], toolkit: "13.0" };
    const kernel = { path: "app/tests/data/kernel.so", targets: ["sm_50"], toolkit: "10.2" };
    const inspection = inspectionOf(madeImage(madePackage("app", app, kernel)));
    const paths = (all: typeof inspection.files) => all.map(({ path }) => path);
    expect([paths(inspection.files), paths(inspection.tests)]).toEqual([
      [`${sitePackages}/app/ops.so`],
      [`${sitePackages}/app/tests/data/kernel.so`],
    ]);
    const text = inspectLines(inspection, { allFiles: false, style: styleFor(false) }).join("\n");
    expect(text).toMatch(/own tests, which decide nothing\n.*app\/tests\/data\/kernel\.so .*sm_50/);
    expect(text).toMatch(/toolkit +13\.0 \(\S*\/app\/ops\.so\)/);
    expect(text).toMatch(/GPU code +sm_90\n/);
  });

  it("has fields in JSON that the page names", async () => {
    const { out } = await run(["--json"]);
    const {
      subjects: [answer],
      ...rest
    } = JSON.parse(out);
    expect(rest).toEqual({ schemaVersion: 1, expected: null });
    expect(Object.keys(answer)).toEqual(
      "schemaVersion subject source digest platform layers cpu gpu amd driver requires unopened unreadPackages files tests bytes".split(
        " ",
      ),
    );
    expect(answer.requires.cuda).toEqual({
      toolkit: "12.8",
      code: ["sm_80", "compute_90"],
      driver: { mode: "host", minimum: "550.54.14" },
      toolkitFile: "/app/kernels.fatbin",
      raisedBy: "zstd-compressed code in /app/kernels.fatbin",
    });
    expect(answer.gpu).toMatchObject({
      targets: [
        { target: "sm_80", files: 1, modules: 2 },
        { target: "compute_90", files: 1, modules: 1 },
      ],
      lto: ["compute_80"],
      unknownKinds: [77],
    });
  });

  it("draws how far it is on a terminal, and nothing elsewhere", async () => {
    const { err } = await run([], true);
    expect(err.startsWith("\r\u001b[K0 of 0 MiB opened")).toBe(true);
    expect(err.endsWith("\r\u001b[K")).toBe(true);
    expect((await run(["--json"])).err).toBe("");
  });
});

it("says which package database it could not read", async () => {
  const database = { path: "var/lib/rpm/Packages.db", content: Buffer.from("RpmP of a later version") };
  const layout = makeLayout(makeImage([makeTar([database])]));
  const args = ["inspect", layout, "--no-cache", "--platform", "linux/amd64"];
  const { out } = await runInProcess(args, { cwd: "/" });
  expect(out).toContain(
    "Packages not known, so that their files count as the image's own\n  /var/lib/rpm/Packages.db: no ndb database\n",
  );
});

describe("programs for a CPU whose code is not read", needs(whyNoRiscv), () => {
  const program = () => {
    const root = makeFolder({ "x.c": "int main(void) { return 0; }\n" });
    execFileSync("riscv64-linux-gnu-gcc", ["-O2", "-march=rv64gc_zba", "x.c", "-o", "x"], { cwd: root });
    return readFileSync(join(root, "x"));
  };

  it("need unknown features of it, and not none", async () => {
    // One for another CPU, for whoever builds there, does not speak for the image.
    const root = makeTar([
      { path: "bin/x", content: program() },
      { path: "bin/host", content: readFileSync("/bin/true") },
    ]);
    const layout = makeLayout(makeImage([root], "riscv64"));
    const args = ["inspect", layout, "--no-cache", "--platform", "linux/riscv64"];
    const { exit, out } = await runInProcess(args, { cwd: "/" });
    expect(exit).toBe(0);
    expect(out).toMatch(/^ {2}CPU +unknown$/m);
    expect(out).toMatch(/^ {2}features +unknown$/m);
    expect(out).toMatch(/^ {2}not decided +code for riscv is not read: what it needs of a CPU is unknown$/m);
    expect(out).toContain("the code of its programs is not read");
    expect(out).not.toContain("baseline");
    const { subjects } = JSON.parse((await runInProcess([...args, "--json"], { cwd: "/" })).out);
    const [{ requires }] = subjects;
    expect(requires.cpu.level).toBeNull();
    expect(requires.undecided).toHaveLength(1);
  });
});
