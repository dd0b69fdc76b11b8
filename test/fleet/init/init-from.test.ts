/** `init --from`: existing Dockerfiles of many kinds become matrices that plan, with the lines changed that it names. */

import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { applyEdits } from "../../../src/fleet/init/draft.ts";
import { initFrom } from "../../../src/fleet/init/init-from.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { lowestMarches, proposeMarches } from "../../../src/fleet/init/propose-axes.ts";
import { findMarch } from "../../../src/hardware/cpu-marches.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const hostFile = (name: string) => join(import.meta.dirname, `../../fixtures/hosts/${name}/expected.json`);
const hostOf = (name: string) => JSON.parse(readFileSync(hostFile(name), "utf8")) as HostFacts;
const xeon = hostOf("debian12-cascadelake-t4_vm");
const epyc = hostOf("rhel9-zen4_epyc-b200");
const arm = hostOf("amazon-neoverse_n1-t4g");
const both = [xeon, epyc];
const named = { name: "app", registry: "localhost:5000" };

/** The matrix, the changed Dockerfile, and the arguments of the first cell, after all of it was planned. */
async function adopted(dockerfile: string, hosts = both, path = "Dockerfile", more = {}) {
  const folder = makeFolder({ [path]: dockerfile, ...more });
  const answer = await initFrom(folder, { dockerfile: path, hosts, ...named });
  expect(readFileSync(join(folder, path), "utf8")).toBe(dockerfile);
  const changed = applyEdits(dockerfile, answer.edits);
  writeFileSync(join(folder, path), changed);
  const fleet = await openFleet(join(folder, "matrix.yaml"));
  const plan = await planFleet(fleet, { lock: null, findBaseDigest: async () => null });
  const built = plan.cells.filter(({ action }) => action === "build");
  expect(built).toHaveLength(answer.cells);
  return {
    ...answer,
    folder,
    dockerfile: changed,
    matrix: readFileSync(join(folder, "matrix.yaml"), "utf8"),
    cells: built.map(({ cell }) => cell.id),
    args: built[0]?.inputs?.args,
  };
}

describe("the CPU's march comes", () => {
  test("by the compiler's own variables, where the project says no flag", async () => {
    const { edits, cells, args } = await adopted(
      "FROM debian:bookworm\nRUN apt-get update && apt-get install -y \\\n  make \\\n  g++\nCOPY . /src\nRUN cd /src && make -j4\n",
    );
    expect(edits).toEqual([
      { line: 6, kind: "before", text: "ARG CC=gcc" },
      { line: 6, kind: "before", text: "ARG CXX=g++" },
    ]);
    // gcc 12.2 of this release does not know znver4, and resolve puts x86-64-v4 before znver3.
    expect(cells).toEqual(["x86-64", "x86-64-v4", "cascadelake"]);
    expect(args).toEqual({ CC: "gcc -march=x86-64", CXX: "g++ -march=x86-64" });
  });

  test("in the place of a -march that a step names, whatever its quotes", async () => {
    const { dockerfile, args } = await adopted(
      `FROM gcc:14\nCOPY . .\nENV OPT="-O3 -march=haswell -mtune=haswell"\nRUN make CFLAGS='-O2 -march=native' && \\\n  # -march=native\n  make more CFLAGS="-march=native"\n`,
    );
    expect(dockerfile).toBe(
      `FROM gcc:14\nCOPY . .\nARG MARCH_FLAGS\nENV OPT="-O3 \${MARCH_FLAGS}"\nRUN make CFLAGS='-O2 '"\${MARCH_FLAGS}"'' && \\\n  # -march=native\n  make more CFLAGS="\${MARCH_FLAGS}"\n`,
    );
    expect(args).toEqual({ MARCH_FLAGS: "-march=x86-64" });
  });

  test("behind a compiler that a step calls, which reads no variable", async () => {
    const { dockerfile } = await adopted(
      "FROM gcc:14\nCOPY . .\nRUN apt-get install -y \\\n  gcc \\\n  clang\nRUN cd src && \\\n  gcc -O3 -c a.c && g++ -o b b.cc; echo gcc x\n",
    );
    expect(dockerfile).toContain(
      `ARG MARCH_FLAGS\nRUN cd src && \\\n  gcc \${MARCH_FLAGS} -O3 -c a.c && g++ \${MARCH_FLAGS} -o b b.cc; echo gcc x\n`,
    );
    expect(dockerfile).toContain("  gcc \\\n  clang\n");
  });

  test.each([
    ["ARG CFLAGS=-O2", "CFLAGS", "-O2 -march=x86-64"],
    ['ARG CXXFLAGS="-O3 -march=haswell -g"', "CXXFLAGS", "-O3 -g -march=x86-64"],
    ["ARG MARCH=x86-64", "MARCH", "x86-64"],
    ["ARG TARGET_CPU", "TARGET_CPU", "x86-64"],
    ["ARG APP_MARCH=-march=native", "APP_MARCH", "-march=x86-64"],
    ["ARG CC=clang", "CC", "clang -march=x86-64"],
  ])("by an argument that is there: %s", async (line, name, value) => {
    const { edits, args } = await adopted(`FROM gcc:14\n${line}\nRUN make\n`);
    expect(edits).toEqual([]);
    expect(args).toEqual({ [name]: value });
  });

  test("as flags, where the Dockerfile says which compiler", async () => {
    const cmake = await adopted("FROM gcc:14\nRUN cmake -DCMAKE_CXX_COMPILER=clang++ . && make\n");
    expect(cmake.edits.map(({ text }) => text)).toEqual(["ARG CFLAGS", "ARG CXXFLAGS"]);
    const both = await adopted("FROM gcc:14\nENV CC=gcc-14\nENV CFLAGS=-O2\nRUN make\n");
    expect(both.edits.map(({ text }) => text)).toEqual([
      "ARG MARCH_FLAGS",
      `ENV CFLAGS="\${CFLAGS} \${MARCH_FLAGS}" CXXFLAGS="\${CXXFLAGS} \${MARCH_FLAGS}"`,
    ]);
  });

  describe("on the command line of make, where the Makefile", () => {
    const stepOf = (dockerfile: string) =>
      dockerfile
        .split("\n")
        .filter((line) => /make/.test(line))
        .at(-1);
    const dockerfile = "FROM gcc:14\nCOPY . /src\nRUN cd /src && make -j4 all; make install\n";

    test.each([
      ["assigns CC", "CC=\tgcc\nall:\n\t$(CC) a.c\n", 'make CC="${CC}" -j4 all; make CC="${CC}" install'],
      [
        "assigns both",
        "CC := gcc\nexport CXX=g++\n",
        'make CC="${CC}" CXX="${CXX}" -j4 all; make CC="${CC}" CXX="${CXX}" install',
      ],
      ["assigns flags without a march", "CFLAGS = -O3 -g\n", "make -j4 all; make install"],
      ["assigns it where nothing is", "CC ?= gcc\nall:\n\tCC=gcc ./x\n", "make -j4 all; make install"],
    ])("%s", async (_, makefile, expected) => {
      const { dockerfile: changed, args } = await adopted(dockerfile, both, "Dockerfile", {
        Makefile: makefile,
      });
      expect(stepOf(changed)).toBe(`RUN cd /src && ${expected}`);
      expect(args).toEqual({ CC: "gcc -march=x86-64", CXX: "g++ -march=x86-64" });
    });

    test("has a -march of its own, which would count", async () => {
      const {
        dockerfile: changed,
        args,
        notes,
      } = await adopted(dockerfile, both, "Dockerfile", {
        Makefile: "CFLAGS = -O3 -march=native -g\nCXXFLAGS += -march=native\n",
      });
      expect(changed).toContain("ARG CFLAGS\n");
      expect(stepOf(changed)).toBe(
        'RUN cd /src && make CFLAGS="${CFLAGS}" -j4 all; make CFLAGS="${CFLAGS}" install',
      );
      expect(args).toMatchObject({ CC: "gcc -march=x86-64", CFLAGS: "-O3 -g -march=x86-64" });
      expect(notes).toEqual([expect.stringContaining("Makefile:2 has a -march of its own in CXXFLAGS")]);
    });

    test("does not take the Dockerfile's own argument", async () => {
      const own = "FROM gcc:14\nARG CFLAGS=-O2\nCOPY src /src\nRUN make -C /src CC=clang\n";
      const { dockerfile: changed, args } = await adopted(own, both, "Dockerfile", {
        "src/Makefile": "CC = gcc\nCFLAGS = -g\n",
      });
      expect(stepOf(changed)).toBe('RUN make CFLAGS="${CFLAGS}" -C /src CC=clang');
      expect(args).toEqual({ CFLAGS: "-O2 -march=x86-64" });
    });

    test("assigns flags that nobody can say again: it is told", async () => {
      const own = "FROM gcc:14\nENV CC=clang\nCOPY . .\nRUN make\n";
      const { dockerfile: changed, notes } = await adopted(own, both, "Dockerfile", {
        Makefile: "CFLAGS = -O2 $(INCLUDES)\n",
      });
      expect(stepOf(changed)).toBe("RUN make");
      expect(notes).toEqual([expect.stringContaining("Makefile:1 assigns CFLAGS")]);
    });
  });

  test("in the stage that compiles, and not where its wheels are installed", async () => {
    const { edits } = await adopted(
      "FROM gcc:14 AS build\nCOPY . .\nRUN A=b pip wheel .\nFROM debian:13\nCOPY --from=build /*.whl /\nRUN pip install /*.whl && rm /*.whl\n",
    );
    expect(edits.map(({ line }) => line)).toEqual([3, 3]);
  });

  test("nowhere, where nothing is compiled: then there is one image, for every CPU", async () => {
    const { cells, edits, notes } = await adopted(
      'FROM python:3.12-slim\nRUN apt-get install -y gcc make\nCOPY . .\nCMD ["python", "app.py"]\n',
    );
    expect([cells, edits]).toEqual([["x86-64"], []]);
    expect(notes[0]).toContain("no step is known that compiles");
  });
});

describe("the marches are", () => {
  const make = (base: string) => `FROM ${base}\nCOPY . .\nRUN make\n`;

  test("the level that every machine has, the highest of all hosts, and each host's own", async () => {
    expect((await adopted(make("gcc:15"))).cells).toEqual(["x86-64", "x86-64-v4", "cascadelake", "znver4"]);
    expect((await adopted(make("gcc:15"), [hostOf("centos7-haswell-none"), epyc])).cells).toEqual([
      "x86-64",
      "x86-64-v3",
      "haswell",
      "znver4",
    ]);
  });

  test("of each architecture by itself", async () => {
    expect((await adopted(make("gcc:15"), [xeon, arm])).cells).toEqual([
      "x86-64",
      "armv8-a",
      "x86-64-v4",
      "cascadelake",
      "armv8.2-a",
      "neoverse-n1",
    ]);
  });

  test("for each real host, last the one that resolve takes there", () => {
    const folder = join(import.meta.dirname, "../../fixtures/hosts");
    const hosts = readdirSync(folder)
      .map((name) => ({ ...hostOf(name), problems: [] }))
      .filter(({ platform, cpu }) => platform.startsWith("linux/") && cpu.features !== null);
    const compilers = [null, { family: "gcc", version: "12.2" }, { family: "gcc", version: "9.4" }] as const;
    const asked = compilers.flatMap((compiler) => hosts.map((host) => ({ host, compiler })));
    const taken = asked.map(({ host, compiler }) => {
      const names = [...lowestMarches([host]), ...proposeMarches([host], compiler)];
      const imageOf = (march: string) =>
        image({
          axes: { march },
          platform: host.platform,
          requires: { cpu: { march, features: findMarch(march)?.features ?? [] }, cuda: null },
        });
      const lock = lockOf(Object.fromEntries(names.map((name) => [name, imageOf(name)])));
      const { match } = resolveImage(lock, host);
      return [host.cpu.model, match?.cell, names.at(-1)];
    });
    expect(taken.length).toBeGreaterThan(150);
    expect(taken.filter(([, cell, last]) => cell !== last)).toEqual([]);
  });

  test("those that the base's compiler knows", async () => {
    expect((await adopted(make("ubuntu:20.04"))).cells).toEqual(["x86-64", "skylake-avx512", "cascadelake"]);
    expect((await adopted(make("gcc:4.9"), [xeon])).cells).not.toContain("cascadelake");
  });

  test("levels that most machines have, where no CPU is known, and it is said", async () => {
    const unknown = { ...xeon, cpu: { ...xeon.cpu, features: null, level: null } };
    const { cells, notes } = await adopted(make("gcc:15"), [unknown]);
    expect(cells).toEqual(["x86-64", "x86-64-v2", "x86-64-v3"]);
    expect(notes[0]).toContain("the CPU of no host is known");
  });
});

describe("CUDA", () => {
  const cuda = (rest: string) => `FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nCOPY . .\n${rest}\n`;

  test("has the toolkit of the base and the hosts' GPUs", async () => {
    const { matrix, cells } = await adopted(cuda("RUN cmake -B b && cmake --build b"));
    expect(matrix).toContain('cuda: [{ toolkit: "12.8.1", driver: { mode: host } }]');
    expect(matrix).toContain('compute: ["7.5", "10.0"]');
    expect(cells).toHaveLength(4);
  });

  test("has PTX for GPUs that are newer than the toolkit", async () => {
    const { matrix } = await adopted(cuda("RUN make").replace("12.8.1", "12.4.1"));
    expect(matrix).toContain('compute: ["7.5+ptx"]');
  });

  test("has what the Dockerfile names, where no host has a GPU", async () => {
    const named = cuda('ARG TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"\nRUN pip install .');
    expect((await adopted(named, [hostOf("centos7-haswell-none")])).matrix).toContain(
      'compute: ["8.0", "9.0+ptx"]',
    );
  });

  test.each([
    ["RUN cmake -B b", "ARG CUDAARCHS", { CUDAARCHS: "75-real" }],
    ["RUN pip install .", "ARG TORCH_CUDA_ARCH_LIST", { TORCH_CUDA_ARCH_LIST: "7.5" }],
    ["RUN make", "ARG NVCC_APPEND_FLAGS", { NVCC_APPEND_FLAGS: "-gencode=arch=compute_75,code=sm_75" }],
    [
      "RUN cmake -DCMAKE_CUDA_ARCHITECTURES=80 .",
      `RUN cmake -DCMAKE_CUDA_ARCHITECTURES=\${CMAKE_CUDA_ARCHITECTURES} .`,
      { CMAKE_CUDA_ARCHITECTURES: "75-real" },
    ],
    [
      "ENV TORCH_CUDA_ARCH_LIST=8.0\nRUN pip install .",
      "ARG TORCH_CUDA_ARCH_LIST=8.0\n",
      { TORCH_CUDA_ARCH_LIST: "7.5" },
    ],
    [
      "RUN nvcc -arch=sm_80 -O3 a.cu",
      `RUN nvcc -Xcompiler "\${MARCH_FLAGS}" \${GENCODE} -O3 a.cu`,
      { GENCODE: "-gencode=arch=compute_75,code=sm_75" },
    ],
    [
      "RUN nvcc -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90] a.cu",
      `RUN nvcc -Xcompiler "\${MARCH_FLAGS}" \${GENCODE} a.cu`,
      { GENCODE: "-gencode=arch=compute_75,code=sm_75" },
    ],
  ])("takes the GPUs where %s reads them", async (step, line, args) => {
    const found = await adopted(cuda(step), [xeon]);
    expect(found.dockerfile).toContain(line);
    expect(found.args).toMatchObject(args);
  });

  test("without a step that compiles is one image with code for all", async () => {
    const { matrix, cells } = await adopted(cuda("CMD app"));
    expect(matrix).toContain('compute: [["7.5", "10.0"]]');
    expect(cells).toHaveLength(1);
  });
});

test("an ARG that chooses the Python is an axis", async () => {
  const { matrix, args } = await adopted(
    `ARG PYTHON=3.12\nFROM python:\${PYTHON}-slim-bookworm\nCOPY . .\nRUN pip install .\n`,
  );
  expect(matrix).toContain('python: ["3.12"]');
  expect(args).toMatchObject({ PYTHON: "3.12" });
});

test("an ARG without a value is told", async () => {
  const { notes } = await adopted("FROM gcc:14\nARG VERSION\nARG TARGETARCH\nRUN make V=$VERSION\n");
  expect(notes).toEqual([
    "ARG VERSION has no value: give a value in args of the matrix where a step needs one",
  ]);
});

test("the context is the folder that has what the Dockerfile copies", async () => {
  const text = "FROM gcc:14\nCOPY app.c /src/\nRUN make\n";
  const above = await adopted(text, both, "docker/Dockerfile", { "app.c": "" });
  expect(above.matrix).toContain('template: docker/Dockerfile # used as it stands\ncontext: "."\n');
  const beside = await adopted(text, both, "docker/Dockerfile", { "docker/app.c": "" });
  expect(beside.matrix).not.toContain("context:");
});

test("Windows' line ends stay, also of new lines", async () => {
  const { dockerfile } = await adopted("FROM gcc:14\r\nCOPY . .\r\nRUN make\r\n");
  expect(dockerfile).toBe("FROM gcc:14\r\nCOPY . .\r\nARG CC=gcc\r\nARG CXX=g++\r\nRUN make\r\n");
});

describe("nothing is written", () => {
  const refused = async (files: Record<string, string>, dockerfile = "Dockerfile"): Promise<string> => {
    const folder = makeFolder(files);
    try {
      await initFrom(folder, { dockerfile, hosts: both, ...named });
      return "written";
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      if (!("matrix.yaml" in files)) expect(existsSync(join(folder, "matrix.yaml"))).toBe(false);
      return error.problems.map(({ code, at }) => `${at?.file?.replace(`${folder}/`, "")} ${code}`).join();
    }
  };

  test.each([
    ["over a matrix", { "matrix.yaml": "mine", Dockerfile: "FROM a\n" }, "matrix.yaml FILE_EXISTS"],
    ["without a Dockerfile", {}, "Dockerfile FILE_NOT_FOUND"],
    ["for a base that nobody can tell", { Dockerfile: `FROM \${BASE}\n` }, "Dockerfile DOCKERFILE_INVALID"],
    ["for what is no Dockerfile", { Dockerfile: "all:\n\tcc a.c\n" }, "Dockerfile DOCKERFILE_INVALID"],
    ["for a file that is not there", { Dockerfile: "FROM a\nCOPY b /\n" }, "Dockerfile CONTEXT_NOT_FOUND"],
    ["for a secret", { Dockerfile: "FROM a\nENV API_TOKEN=b\n" }, "Dockerfile MATRIX_SECRET"],
  ])("%s", async (_, files, expected) => {
    expect(await refused(files as Record<string, string>)).toBe(expected);
  });
});

describe("imgmatch init --from", () => {
  test("says what to change, and plans when it is changed", async () => {
    const folder = makeFolder({ Dockerfile: "FROM gcc:14\nCOPY . .\nRUN make\n" }, "My App ");
    const context = { cwd: folder };
    const hosts = [
      "--host",
      hostFile("debian12-cascadelake-t4_vm"),
      "--host",
      hostFile("rhel9-zen4_epyc-b200"),
    ];
    const { exit, out, err } = await runInProcess(
      ["init", "--from", "Dockerfile", "--name", "app", ...hosts],
      context,
    );
    expect([exit, err]).toEqual([0, ""]);
    expect(out).toBe(
      [
        "wrote matrix.yaml: 4 images of Dockerfile",
        "change Dockerfile:",
        "  before line 3: ARG CC=gcc",
        "  before line 3: ARG CXX=g++",
        "then: imgmatch plan",
        "",
      ].join("\n"),
    );
    const before = await runInProcess(
      ["plan", "--offline", "--matrix", join(folder, "matrix.yaml")],
      context,
    );
    expect(before.err).toContain("ARGUMENT_UNDECLARED: Dockerfile has no ARG CC");
    writeFileSync(join(folder, "Dockerfile"), "FROM gcc:14\nCOPY . .\nARG CC=gcc\nARG CXX=g++\nRUN make\n");
    const after = await runInProcess(["plan", "--offline", "--matrix", join(folder, "matrix.yaml")], context);
    expect(after.out).toContain("4 cells: 4 to build");
  });

  test("asks this machine where no host is named", async () => {
    const folder = makeFolder({ Dockerfile: "FROM gcc:14\nRUN make\n" }, "app-");
    const { exit, out } = await runInProcess(["init", "--from", "Dockerfile", "--json"], { cwd: folder });
    expect(exit).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      written: ["matrix.yaml"],
      template: "Dockerfile",
      edits: [{}, {}],
    });
  });

  test("--host alone is no question", async () => {
    expect((await runInProcess(["init", "--host", "a.json"], { cwd: makeFolder({}) })).err).toContain(
      "add --from",
    );
  });
});

describe("init --from Dockerfile --write", () => {
  const text = "FROM gcc:14\nCOPY . .\nRUN make -j4\n";
  const run = (cwd: string, more: Partial<Parameters<typeof runInProcess>[1]> = {}) =>
    runInProcess(["init", "--from", "Dockerfile", "--host", hostFile("rhel9-zen4_epyc-b200"), "--write"], {
      cwd,
      ...more,
    });

  test("shows its changes and makes them", async () => {
    const cwd = makeFolder({ Dockerfile: text });
    const { exit, out, err } = await run(cwd);
    const changed = readFileSync(join(cwd, "Dockerfile"), "utf8");
    expect(exit).toBe(0);
    expect(out).toMatch(/^wrote Dockerfile, matrix.yaml: \d+ images? of Dockerfile\nnext: imgmatch plan\n$/);
    const added = changed.split("\n").filter((line) => !text.includes(line));
    expect(added).not.toEqual([]);
    for (const line of added) expect(err).toContain(`Dockerfile: before line 3: ${line}\n`);
  });

  test("leaves a file alone that changes after it was read", async () => {
    const cwd = makeFolder({ Dockerfile: text });
    const other = `${text}# by another\n`;
    const show = () => writeFileSync(join(cwd, "Dockerfile"), other);
    await expect(
      initFrom(cwd, { dockerfile: "Dockerfile", hosts: both, ...named, show }),
    ).rejects.toMatchObject({
      code: "FILE_EXISTS",
    });
    expect(readFileSync(join(cwd, "Dockerfile"), "utf8")).toBe(other);
    expect(existsSync(join(cwd, "matrix.yaml"))).toBe(false);
  });

  test("does not replace a link", async () => {
    const cwd = makeFolder({ "docker/App": text });
    symlinkSync("docker/App", join(cwd, "Dockerfile"));
    const { exit, err } = await run(cwd);
    expect([exit, err.includes("is a link")]).toEqual([2, true]);
    expect(readFileSync(join(cwd, "docker/App"), "utf8")).toBe(text);
    expect(existsSync(join(cwd, "matrix.yaml"))).toBe(false);
  });
});
