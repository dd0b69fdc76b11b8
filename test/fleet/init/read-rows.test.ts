/** `init --from rows.yml --rows KEY`: a list that a script reads, with a mapping for each build. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const dockerfile = "ARG BASE=debian:trixie\nFROM $BASE\nARG PYTHON\nARG KIND=plain\nRUN echo $PYTHON $KIND\n";

async function taken(files: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  const cwd = makeFolder({ Dockerfile: dockerfile, ...files });
  const [file = ""] = Object.keys(files);
  const args = ["init", "--from", file, "--name", "app", ...flags];
  const { exit, out, err } = await runInProcess(args, { cwd, env: { PATH: "/nowhere" } });
  const path = join(cwd, "matrix.yaml");
  return { exit, out, err, matrix: existsSync(path) ? readFileSync(path, "utf8") : "" };
}

const rows = `images:
  backends:
    - { kind: fast, python: "3.10", platforms: "linux/amd64,linux/arm64", team: a }
    - { kind: fast, python: "3.11", platforms: linux/amd64, team: b }
    - { kind: small, python: "3.11", runs-on: ubuntu-24.04-arm, versions: { base: debian:bookworm } }
`;

describe("a list of builds", () => {
  test("is taken over by the keys that --map names, and the others are named", async () => {
    const { exit, out, err, matrix } = await taken(
      { "rows.yml": rows },
      ...["--rows", "images.backends", "--map", "KIND=kind", "--map", "PYTHON=python"],
      ...["--map", "BASE=versions.base"],
    );
    expect([exit, out.includes("4 of 4 builds are cells")]).toEqual([0, true]);
    expect(matrix).toContain("platform: [ linux/amd64, linux/arm64 ]");
    expect(matrix).toContain("debian:bookworm");
    expect(err).toContain("2 rows without versions.base: init gives those builds no argument BASE");
    expect(err).toContain("init does not read team of the rows");
  });

  test("may be JSON, and the whole file", async () => {
    const { exit, out, matrix } = await taken(
      {
        "rows.json":
          '[{"dockerfile": "Dockerfile", "py": "3.10"}, {"py": "3.11", "platform": "linux/arm64"}]',
      },
      ...["--rows", ".", "--map", "PYTHON=py", "--map", "platforms=platform"],
    );
    expect([exit, out.includes("2 of 2 builds are cells")]).toEqual([0, true]);
    expect(matrix).toContain('{ platform: linux/arm64, args: { PYTHON: "3.11" } }');
  });

  test("has its mistake of JSON named with its place, and its number bounded", async () => {
    const broken = await taken({ "r.json": '[{ "py": }]' }, "--rows", ".", "--map", "PYTHON=py");
    expect([broken.exit, broken.err]).toEqual([
      2,
      expect.stringContaining("r.json:1:10: MATRIX_SYNTAX: not JSON"),
    ]);
    const many = await taken({ "r.yml": "- { py: a }\n".repeat(2001) }, "--rows", ".", "--map", "PYTHON=py");
    expect([many.exit, many.err]).toEqual([2, expect.stringContaining("r.yml has 2001 builds")]);
  });

  test("with a number that scripts read in two ways has the row left out of the equal ones", async () => {
    const { exit, out } = await taken(
      { "rows.yml": "- { py: 3.10 }\n- { py: 3.11 }\n- { py: [3] }\n" },
      ...["--rows", ".", "--map", "PYTHON=py"],
    );
    expect(exit).toBe(1);
    expect(out).toContain('PYTHON: "3.10" is no text, and scripts write it in several ways');
    expect(out).toContain('PYTHON: ["3"] is no text, and scripts write it in several ways');
    expect(out).toMatch(/^equal +row 3.11/m);
  });

  test("that speaks of CUDA is never one of images without a GPU", async () => {
    const dockerfile =
      "ARG BASE=debian:trixie\nFROM $BASE AS build\nARG KIND\nARG CUDA_MAJOR_VERSION=12\nARG CUDA_MINOR_VERSION=8\nRUN make $KIND $CUDA_MAJOR_VERSION $CUDA_MINOR_VERSION\nFROM scratch\nCOPY --from=build / /\n";
    const { exit, out } = await taken(
      {
        "rows.yml": `
- { kind: plain, base: debian:trixie, major: "", minor: "" }
- { kind: parts, base: debian:trixie, major: "12", minor: "8" }
- { kind: cublas, base: debian:trixie, major: "", minor: "" }
- { kind: none, base: "team/base:1-cuda1281", major: "", minor: "" }
- { kind: none, base: "team/base:2-cu130", major: "", minor: "" }
- { kind: none, base: "nvidia/cuda:13.0.0-devel-ubuntu24.04", major: "", minor: "" }
- { kind: none, base: "team/base:3-nocuda", major: "", minor: "" }
- { kind: rocm7, base: debian:trixie, major: "", minor: "" }
`,
        Dockerfile: dockerfile,
      },
      ...["--rows", ".", "--map", "KIND=kind", "--map", "BASE=base"],
      ...["--map", "CUDA_MAJOR_VERSION=major", "--map", "CUDA_MINOR_VERSION=minor"],
    );
    const equal = [...out.matchAll(/^equal +row (.*?) {2,}/gm)].map(([, name]) => name);
    expect(exit).toBe(1);
    expect(equal).toEqual(["plain debian:trixie", "none team/base:3-nocuda"]);
    expect(out).toMatch(/^differs +row parts .* 12\.8\.0_all_/m);
    expect(out).toMatch(/^differs +row none nvidia.* 13\.0\.0_all_/m);
    expect(out).toContain("accelerator: KIND=cublas speaks of one, and no text tells its toolkit");
    expect(out).toMatch(/^differs +row none team\/base:1-cuda1281 +12\.8\.1_all_/m);
    expect(out).toContain("accelerator: BASE=team/base:2-cu130 speaks of one");
    expect(out).toContain("accelerator: KIND=rocm7 speaks of one");
  });

  test.each([
    [["--rows", "images.none"], "rows.yml has no list of rows at images.none"],
    [["--rows", "images"], "rows.yml has no list of rows at images"],
    [["--rows", "images.backends", "--map", "PYTHON"], '--map "PYTHON" is no build argument and key'],
    [["--rows", "images.backends", "--from", "rows.yml"], "--rows reads one file"],
    [["--map", "PYTHON=python"], "--map needs --rows"],
    [[], "name the list with --rows"],
  ])("is refused with %s", async (flags, message) => {
    const { exit, err, matrix } = await taken({ "rows.yml": rows }, ...flags);
    expect([exit, matrix]).toEqual([2, ""]);
    expect(err).toContain(message);
  });

  test("with broken YAML is refused with the place", async () => {
    const { exit, err } = await taken({ "rows.yml": "images: [ {a: b\n" }, "--rows", "images");
    expect(exit).toBe(2);
    expect(err).toMatch(/^rows.yml:\d+:\d+: MATRIX_SYNTAX/m);
  });
});
