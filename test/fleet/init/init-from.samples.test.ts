/** Small definitions as the field writes them: `init --from` takes each over as it is, or names what no cell has. */

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { runInProcess } from "../../support/run-cli.ts";

const samples = join(import.meta.dirname, "../../../../shared/samples/takeover");
const missing = existsSync(samples)
  ? null
  : "no samples of definitions in ../shared/samples, beside the checkout (they are not published)";

const cpuHost = join(import.meta.dirname, "../../fixtures/hosts/centos7-haswell-none/expected.json");
const withoutBuildx = { PATH: "/nowhere" };
const withBuildx = () => ({ PATH: pathWithBuildx(), HOME: makeFolder({}) });

async function taken(
  number: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
) {
  const cwd = makeFolder({});
  const sample = readdirSync(samples).find((name) => name.startsWith(number)) ?? "";
  cpSync(join(samples, sample), cwd, { recursive: true });
  rmSync(join(cwd, "written-today.yaml"), { force: true });
  const from = files.flatMap((file) => ["--from", file]);
  const { exit, out, err } = await runInProcess(["init", ...from, ...flags, "--name", "app", "--partial"], {
    cwd,
    env,
  });
  const path = join(cwd, "matrix.yaml");
  const plan = existsSync(path)
    ? await runInProcess(["plan", "--all", "--offline", "--matrix", path], { cwd, env })
    : null;
  const matrix = plan === null ? "" : readFileSync(path, "utf8");
  /** Plans the matrix with these GPU targets in place of unknown. */
  const filledWith = (targets: string) => {
    writeFileSync(path, matrix.replaceAll("[ unknown ]", targets));
    return runInProcess(["plan", "--all", "--offline", "--matrix", path], { cwd, env });
  };
  const args = matrix === "" ? {} : (parse(matrix).args ?? {});
  return { folder: cwd, exit, out, err, plan, matrix, args, filledWith };
}

/** Plans a matrix of the samples, for those that are no definitions. */
function planned(number: string, matrix: string) {
  const sample = readdirSync(samples).find((name) => name.startsWith(number)) ?? "";
  return runInProcess(["plan", "--all", "--offline", "--matrix", join(samples, sample, matrix)], {
    env: withoutBuildx,
  });
}

describe("named contexts", () => {
  const dockerfile = "FROM scratch\nCOPY --from=src a /\n";
  const files = { "app/Dockerfile": dockerfile, "lib/a": "a", "other/a": "b" };

  test("of a workflow that are folders are taken over", async () => {
    const step = (folder: string) => `
      - uses: docker/build-push-action@v6
        with: { context: app, platforms: linux/amd64, build-contexts: "src=${folder}" }`;
    const steps = [step("lib"), step("./other")].join("");
    const cwd = makeFolder({
      ...files,
      "w.yml": `on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:${steps}\n      - run: docker build -q --build-context src=../other --platform linux/amd64 .\n        working-directory: app\n`,
    });
    const { exit, out } = await runInProcess(["init", "--from", "w.yml", "--name", "app"], {
      cwd,
      env: withoutBuildx,
    });
    expect([exit, out.includes("3 of 3 builds are cells")]).toEqual([0, true]);
    const matrix = readFileSync(join(cwd, "matrix.yaml"), "utf8");
    expect(matrix).toContain("contexts: { src: lib }");
    expect(matrix).toContain("contexts: { src: other }");
  });

  test(
    "of bake that are folders are taken over, and others are named",
    needs(whyNoBuildxPlugin),
    async () => {
      const target = (name: string, value: string) =>
        `target "${name}" {\n context = "app"\n platforms = ["linux/amd64"]\n contexts = { src = "${value}" }\n}\n`;
      const bake = `group "default" { targets = ["a", "b"] }\n${target("a", "lib")}${target("b", "docker-image://alpine")}`;
      const cwd = makeFolder({ ...files, "docker-bake.hcl": bake });
      const { exit, out } = await runInProcess(["init", "--from", "docker-bake.hcl", "--name", "app"], {
        cwd,
        env: withBuildx(),
      });
      expect([exit, /^equal +a/m.test(out)]).toEqual([1, true]);
      expect(out).toContain("build-contexts: src=docker-image://alpine");
    },
  );
});

describe("a definition of the field (../shared/samples/takeover)", needs(missing), () => {
  test("01: YAML that is neither bake file nor workflow is refused", async () => {
    const { exit, err } = await taken("01", ["rows.yml"], withoutBuildx);
    expect(exit).toBe(2);
    expect(err).toContain("neither a bake file nor a compose file nor a workflow");
  });

  test("01: with --rows its list is read, and the missing Dockerfile is named", async () => {
    const rows = ["--rows", "include", "--map", "BUILD_TYPE=build-type"];
    const { exit, out, err } = await taken("01", ["rows.yml"], withoutBuildx, rows);
    expect([exit, out.includes("0 of 1 build")]).toEqual([1, true]);
    expect(err).toContain("Dockerfile cannot be read");
  });

  test("02: the value of an unknown `||` is unknown, and named", async () => {
    const { exit, out, matrix } = await taken("02", ["w/images.yml"], withoutBuildx);
    expect(exit).toBe(1);
    expect(out).toContain(
      "args.TARGET_STAGE: ${{ inputs.builder != '' && 'prebuilt' || 'fromsource' }} is not known",
    );
    expect(out).toContain("args.FLAVOR: ${{ github.event.inputs.flavor || 'full' }} is not known");
    expect(matrix).not.toMatch(/fromsource|full/);
  });

  test("03: an exact label goes before another name of a value", async () => {
    const { out } = await planned("03", "matrix.yaml");
    expect(out).toMatch(/^excluded +cpu_y /m);
    expect(out).toMatch(/^(?:build)? +bare_y /m);
  });

  test("04: an argument that no ARG takes is named, and left out", needs(whyNoBuildxPlugin), async () => {
    const { exit, out, err, plan, matrix } = await taken("04", ["docker-bake.hcl"], withBuildx());
    expect([exit, out.includes("2 of 2 builds are cells"), plan?.exit]).toEqual([0, true, 0]);
    expect(err).toContain("Dockerfile has no ARG DEBIAN_FRONTEND: the argument of 2 builds reaches no image");
    expect(matrix).not.toContain("DEBIAN_FRONTEND");
  });

  test(
    "05: a build of the last stage is one cell, with and without its name",
    needs(whyNoBuildxPlugin),
    async () => {
      const { exit, err, plan } = await taken("05", ["docker-bake.hcl"], withBuildx());
      expect([exit, plan?.exit]).toEqual([0, 0]);
      expect(err).toContain("x and y are one cell: linux-amd64_b");
    },
  );

  test("06: a base with CUDA makes a row of CUDA", async () => {
    const { out, err, plan, matrix, filledWith } = await taken(
      "06",
      [".github/workflows/i.yml"],
      withoutBuildx,
    );
    expect(matrix).toContain(
      '{ toolkit: "12.9.0", args: { BASE_IMAGE: nvidia/cuda:12.9.0-devel-ubuntu24.04 } }, { toolkit: none,',
    );
    expect(out).toMatch(/^equal +docker ubuntu:24.04/m);
    expect(out).toMatch(/^differs +docker nvidia\/cuda:12.9.0-devel-ubuntu24.04/m);
    expect(out).toContain("GPU targets: named nowhere");
    expect(err).toContain("no text tells the GPU targets of 1 build: write them into compute");
    expect([plan?.exit, plan?.err.includes("the GPU targets are not known yet")]).toEqual([2, true]);
    expect((await filledWith('[ "9.0" ]')).exit).toBe(0);
  });

  test("07: the axis of the toolkit is one that the matrix has", async () => {
    const { matrix, filledWith } = await taken("07", ["i.yml"], withoutBuildx);
    expect(matrix).toContain('cuda: [ { toolkit: "13.0.3", args: { CUDA_VERSION: cu130 } }');
    expect((await filledWith('[ "9.0" ]')).out).toContain("2 cells: 2 to build");
  });

  test(
    "08: builds by bake and podman are read, and those that are not are named",
    needs(whyNoBuildxPlugin),
    async () => {
      const { out, err } = await taken("08", ["ci.yml"], withBuildx());
      expect(out).toMatch(/^equal +cpu linux\/amd64 +linux-amd64/m);
      expect(out).toMatch(/^equal +gpu gpu linux\/amd64 +linux-amd64/m);
      expect(out).toMatch(/^equal +podman linux\/amd64 +linux-amd64/m);
      expect(err).toMatch(/init does not read .*\$p.*, which is in a loop/);
      expect(err).toContain("job podman: init does not read the action redhat-actions/buildah-build@v2");
      for (const arch of ["amd64", "arm64"])
        expect(err).toContain(
          `job called ${arch}: init does not read the workflow ./.github/workflows/build.yml`,
        );
    },
  );

  test("08: without buildx the bake file is named", async () => {
    const { err } = await taken("08", ["ci.yml"], withoutBuildx);
    expect(err).toContain("job gpu: init does not read docker/bake-action@v7: docker buildx reads bake");
  });

  test("09: a missing Dockerfile spoils its own build alone", needs(whyNoBuildxPlugin), async () => {
    const { out, plan, matrix } = await taken("09", ["docker-bake.hcl"], withBuildx());
    expect(out).toContain("2 of 3 builds are cells");
    expect(out).toContain("the template submodule/Dockerfile cannot be read");
    expect(matrix).not.toContain("submodule");
    expect(plan?.exit).toBe(0);
  });

  test("10: without buildx a bake file is refused with the way to get it, a compose file too", async () => {
    for (const file of ["docker-bake.hcl", "compose.yaml"]) {
      const { exit, err, matrix } = await taken("10", [file], withoutBuildx);
      expect([exit, matrix]).toEqual([5, ""]);
      expect(err).toContain("docker-buildx-plugin");
    }
  });

  test("10: with buildx both are taken over", needs(whyNoBuildxPlugin), async () => {
    const bake = await taken("10", ["docker-bake.hcl"], withBuildx());
    expect([bake.exit, bake.out.includes("2 of 2 builds are cells")]).toEqual([0, true]);
    const compose = await taken("10", ["compose.yaml"], withBuildx());
    expect([compose.exit, compose.out.includes("1 of 1 build is a cell")]).toEqual([0, true]);
  });

  test("11: several bake files are read as one", needs(whyNoBuildxPlugin), async () => {
    const { exit, matrix } = await taken("11", ["versions.hcl", "docker-bake.hcl"], withBuildx());
    expect(matrix).toContain('cuda: [ "12.8.1", "12.9.0" ]');
    // Its base has no compiler, and no step compiles.
    expect([exit, matrix.includes("compute")]).toEqual([0, false]);
  });

  test("12: a list of GPUs that is none is unknown", needs(whyNoBuildxPlugin), async () => {
    const { exit, out, matrix, filledWith } = await taken("12", ["docker-bake.hcl"], withBuildx());
    expect([exit, out.includes("GPU targets: all")]).toEqual([1, true]);
    expect(matrix).toContain("compute: [ { label: all, value: [ unknown ] } ]");
    expect((await filledWith('[ "9.0" ]')).exit).toBe(0);
  });

  test("13: a build on an Arm runner is one for Arm", async () => {
    const { exit, out } = await taken("13", ["w.yml"], withoutBuildx);
    expect(out).toMatch(/^equal +ml ubuntu-latest cpu linux\/amd64 +linux-amd64_cpu/m);
    expect(out).toMatch(/^equal +ml ubuntu-24.04-arm cpu linux\/arm64 +linux-arm64_cpu/m);
    expect(out).toMatch(/^equal +ml ubuntu-24.04-arm armnn linux\/arm64 +linux-arm64_armnn/m);
    expect(exit).toBe(0);
  });

  test.each(["matrix.yaml", "m2.yaml", "m3.yaml"])(
    "14: a toolkit that is not listed needs its driver (%s)",
    async (file) => {
      const { exit, out } = await planned("14", file);
      expect([exit, out.includes("2 cells: 2 to build")]).toEqual([0, true]);
    },
  );

  test("15: numbers and null of YAML are GitHub's", async () => {
    const { exit, matrix, plan } = await taken("15", ["w.yml"], withoutBuildx);
    expect(matrix).toMatch(/v: \[ (\{ value: )?"12"/);
    expect(matrix).toContain('"12.8"');
    expect(matrix).toContain('"13.0"');
    expect(matrix).not.toContain("~");
    expect([exit, plan?.exit]).toEqual([0, 0]);
  });

  test("16: a named context that replaces a base is named, and so are flags of the build", async () => {
    const { exit, out, err } = await taken("16", ["w.yml"], withoutBuildx);
    expect(exit).toBe(1);
    expect(out).toContain("build-contexts: base=docker-image://alpine:3.20");
    expect(err).toContain("secrets, network, no-cache");
  });

  test("17: fromJSON of a literal is known", async () => {
    const { exit, out, matrix } = await taken("17", ["w.yml"], withoutBuildx);
    expect(matrix).toContain('v: [ "1", "2" ]');
    expect([exit, out.includes("2 of 2 builds are cells")]).toEqual([0, true]);
  });

  test("18: settings of bake are named, and a check is no image", needs(whyNoBuildxPlugin), async () => {
    const { out, err, matrix } = await taken("18", ["docker-bake.hcl"], withBuildx());
    expect(out).not.toMatch(/^equal +inline/m);
    expect(`${out}${err}`).toMatch(/lint: call/);
    expect(matrix).not.toContain("value: l");
    for (const key of ["secret", "network", "shm-size", "ulimits"]) expect(`${out}${err}`).toContain(key);
  });

  test.each(["w.yml", "m.yml", "r.yml"])(
    "20: an argument without a value has that of the step (%s)",
    async (file) => {
      const { exit, out, args } = await taken("20", [`.github/workflows/${file}`], withoutBuildx);
      expect([exit, args]).toEqual([1, { CFLAGS: "-O3" }]);
      expect(out).toMatch(/args\.VERSION: \$\{?.*VERSION.* is not known/);
    },
  );

  test("21: what only a shell expands is not known, and no text", async () => {
    const of = (file: string) => taken("21", [`.github/workflows/${file}`], withoutBuildx);
    const [a, b, c] = [await of("a.yml"), await of("b.yml"), await of("c.yml")];
    expect([a.exit, a.matrix.match(/one|two|seven/g)]).toEqual([0, expect.not.arrayContaining(["seven"])]);
    expect([b.exit, b.out.includes("args.A: ${V#v} is not known")]).toEqual([1, true]);
    expect([c.exit, c.out.match(/args\.A: \$V.* is not known/g)?.length]).toEqual([1, 2]);
    expect(c.err).toMatch(/init does not read .*A=\$v.*, which is in a loop/);
    for (const { args } of [b, c]) expect(args.A).toBeUndefined();
  });

  test.each([["n.yml", "${DIR:-${OTHER}}/Dockerfile is not known"]])(
    "21: a Dockerfile whose path is not known is no cell (%s)",
    async (file, named) => {
      const { exit, err, matrix } = await taken("21", [`.github/workflows/${file}`], withoutBuildx);
      expect([exit, matrix, err.includes(named)]).toEqual([2, "", true]);
    },
  );

  test("21: a default of the shell is read where the variable is known, and else named (w.yml)", async () => {
    const { exit, out, matrix } = await taken("21", [".github/workflows/w.yml"], withoutBuildx);
    expect([exit, out.includes("args.A: ${A_VALUE:-seven} is not known")]).toEqual([1, true]);
    expect(matrix).toContain("template: one/Dockerfile");
  });

  test("19: an expression in a word is evaluated, and never split", async () => {
    const { exit, out } = await taken("19", [".github/workflows/one.yml"], withoutBuildx);
    expect([exit, out.includes("2 of 2 builds are cells")]).toEqual([0, true]);
  });

  test("24: a Dockerfile on a base of ROCm gets its row, and one on NGC's a toolkit to fill in", async () => {
    const rocm = await taken("24", ["Dockerfile"], withoutBuildx, [
      "--host-type",
      "Standard_ND96isr_MI300X_v5",
      "--write",
    ]);
    expect([rocm.exit, rocm.plan?.exit]).toEqual([0, 0]);
    expect(rocm.matrix).toContain('accel: [{ rocm: "6.4" }]\n  compute: [gfx942]');
    const ngc = await taken("24", ["Dockerfile.ngc"], withoutBuildx, ["--write"]);
    expect([ngc.exit, ngc.plan?.exit]).toEqual([0, 2]);
    expect(ngc.matrix).toContain("toolkit: unknown");
    expect(ngc.err).toContain("nvcr.io/nvidia/pytorch:25.01-py3 tells no CUDA toolkit that is known");
    expect(ngc.plan?.err).toContain("the CUDA toolkit is not known yet");
  });

  test("29: without a GPU, compute has what clouds rent, and it is said", async () => {
    const { exit, matrix, err } = await taken("29", ["Dockerfile"], withoutBuildx, ["--host", cpuHost]);
    expect(exit).toBe(0);
    expect(matrix).toMatch(/compute: .*"7\.5".*"8\.0".*"8\.6".*"8\.9".*"9\.0"/);
    expect(err).toContain("compute has the GPUs that clouds rent and CUDA");
  });

  test("22: a placeholder under a secret's name is permitted by a word of the matrix, and it is said", async () => {
    const { exit, err, matrix, plan } = await taken("22", [".github/workflows/w.yml"], withoutBuildx);
    expect([exit, plan?.exit, parse(matrix).notSecret]).toEqual([0, 0, ["DJANGO_SECRET_KEY"]]);
    expect(err).toContain("DJANGO_SECRET_KEY is a secret by its name and none by its text");
    const dockerfile = await taken("22", ["Dockerfile"], withoutBuildx);
    expect([dockerfile.exit, dockerfile.plan?.exit]).toEqual([0, 0]);
    expect(dockerfile.matrix).toContain("notSecret: [DJANGO_SECRET_KEY]");
  });

  test("20: by hand, the argument that a run knows is one of the environment", async () => {
    const { folder, matrix } = await taken("20", [".github/workflows/w.yml"], withoutBuildx);
    const path = join(folder, "matrix.yaml");
    writeFileSync(path, matrix.replace("CFLAGS:", "VERSION: { env: VERSION, default: dev }\n  CFLAGS:"));
    const texts = ["v2", ""].map(async (VERSION) => {
      const flags = ["plan", "--json", "--offline", "--matrix", path];
      const { out } = await runInProcess(flags, { cwd: folder, env: { ...withoutBuildx, VERSION } });
      return JSON.parse(out).cells[0].build.args;
    });
    expect(await Promise.all(texts)).toEqual([
      { CFLAGS: "-O3", VERSION: "v2" },
      { CFLAGS: "-O3", VERSION: "dev" },
    ]);
  });

  test("23: with --to, paths of the matrix are from its own folder", needs(whyNoBuildxPlugin), async () => {
    const to = "fleet/svc.yaml";
    const { exit, folder, out } = await taken("23", ["svc/compose.yaml"], withBuildx(), ["--to", to]);
    expect([exit, out]).toEqual([0, expect.stringContaining(`wrote ${to}: 1 of 1 build is a cell`)]);
    expect(parse(readFileSync(join(folder, to), "utf8"))).toMatchObject({
      template: "../svc/Dockerfile",
      context: "../svc",
    });
    expect(out).toContain(`next: imgmatch plan --matrix ${to}`);
    const plan = ["plan", "--all", "--offline", "--matrix", join(folder, to)];
    expect((await runInProcess(plan, { cwd: folder, env: withoutBuildx })).out).toContain("1 to build");
  });

  test("23: a compose file's paths are from its own folder", needs(whyNoBuildxPlugin), async () => {
    const { exit, matrix } = await taken("23", ["svc/compose.yaml"], withBuildx());
    expect([exit, matrix]).toEqual([0, expect.stringContaining("template: svc/Dockerfile")]);
  });

  test("25: a compose service has its platform", needs(whyNoBuildxPlugin), async () => {
    const { exit, matrix } = await taken("25", ["compose.yaml"], withBuildx());
    expect([exit, matrix]).toEqual([0, expect.stringContaining("linux/arm64")]);
  });

  test("21: a build behind timeout is read", async () => {
    const { exit, out } = await taken("21", [".github/workflows/z.yml"], withoutBuildx);
    expect([exit, out.includes("1 of 1 build is a cell")]).toEqual([0, true]);
  });

  test.each([
    ["url.yml", "https://example.org/team/other.git#v1"],
    ["checkout.yml", "team/other"],
  ])("26: a build of another repository is named, and no cell of this one (%s)", async (file, named) => {
    const { exit, err, matrix } = await taken("26", [`.github/workflows/${file}`], withoutBuildx);
    expect([exit, matrix, err.includes(named)]).toEqual([2, "", true]);
  });

  test("26: a step that changes the Dockerfile is named", async () => {
    const { exit, out } = await taken("26", [".github/workflows/generated.yml"], withoutBuildx);
    expect([exit, out.includes("sed -i 's/debian/ubuntu/' Dockerfile")]).toEqual([1, true]);
  });

  test("27: an argument in quotes is that of the action", async () => {
    const { exit, args } = await taken("27", [".github/workflows/w.yml"], withoutBuildx);
    expect([exit, args]).toEqual([0, { A: "x y" }]);
  });

  test("28: blanks of a literal stay", async () => {
    const { exit, matrix } = await taken("28", [".github/workflows/w.yml"], withoutBuildx);
    expect(exit).toBe(0);
    for (const text of ["x y one", "x y two"]) expect(matrix).toContain(text);
  });

  test("30: builds behind variables and timeout are read", async () => {
    const { out } = await taken("30", [".github/workflows/w.yml"], withoutBuildx);
    for (const platform of ["amd64", "arm64", "ppc64le"]) expect(out).toContain(`one linux/${platform}`);
  });
});
