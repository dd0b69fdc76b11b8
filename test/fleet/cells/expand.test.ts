import { describe, expect, test } from "vitest";
import { unknownTargets } from "../../../src/fleet/cells/impossible.ts";
import { findMarch } from "../../../src/hardware/cpu-marches.ts";
import { cellsOf, cudaEntry, expand } from "../../support/matrices.ts";

const ids = (rest: string) => expand(rest).map(({ cell }) => cell.id);
const skipped = (rest: string) =>
  Object.fromEntries(
    expand(rest).flatMap(({ cell, skipped: why }) => (why === null ? [] : [[cell.id, why]])),
  );

describe("the number of cells", () => {
  const axis = (name: string, size: number) =>
    `  ${name}: [${Array.from({ length: size }, (_, index) => `v${index}`).join(", ")}]`;

  test("is bounded before anything is expanded", () => {
    const rest = `axes:\n${["a", "b", "c", "d", "e", "f"].map((name) => axis(name, 16)).join("\n")}`;
    expect(() => expand(rest)).toThrow(
      "INPUT_TOO_LARGE: the matrix has 16777216 cells (16 a × 16 b × 16 c × 16 d × 16 e × 16 f), the limit is 100000",
    );
  });

  test("counts a CPU-only row once, whatever there is of compute", () => {
    const rest = (more: string) =>
      `axes:\n  cuda: [none, { toolkit: "12.8.1", base: a }]\n  compute: ["8.0", "9.0"]\n${axis("a", 333)}\n${axis("b", 100)}${more}`;
    expect(() => expand(rest(`\n${axis("c", 2)}`))).toThrow("the matrix has 199800 cells");
    expect(expand(rest(""))).toHaveLength(99_900);
  });
});

describe("a forward-compatibility package on which no machine is", () => {
  const why = (driver: string, compute: string, march = "armv8.2-a") =>
    Object.values(
      skipped(
        `axes:\n  cuda: [none, ${cudaEntry("12.9.1", `driver: { mode: compat, ${driver} }`)}]\n  compute: ["${compute}"]\n  march: [${march}]`,
      ),
    ).map(({ reason }) => reason);

  test("is one of servers before the driver of an Orin", () => {
    expect(why("onPath: always", "8.7")).toEqual([expect.stringContaining("takes the one for Jetson")]);
    for (const driver of ["onPath: never", "onPath: cache", "onPath: always, for: jetson"])
      expect(why(driver, "8.7")).toEqual([]);
    for (const compute of ["8.0", "8.7+PTX", "9.0"]) expect(why("onPath: always", compute)).toEqual([]);
  });

  test("is one for Jetson with code that no Jetson runs", () => {
    expect(why("for: jetson", "9.0")).toEqual([expect.stringContaining("no Jetson runs its code")]);
    expect(why("for: jetson", "8.0+PTX")).toEqual([]);
  });
});

describe("a CUDA row whose images have no GPU code of their own", () => {
  const codeOf = (rest: string) =>
    Object.fromEntries(expand(rest).map(({ cell }) => [cell.id, cell.requires.cuda?.code ?? null]));
  const cuda = `axes:\n  cuda: [none, ${cudaEntry("12.8.1")}, ${cudaEntry("13.0.2")}]`;

  test("needs no compute, and still needs a driver for its toolkit", () => {
    expect(codeOf(cuda)).toEqual({ none: null, "12.8.1": [], "13.0.2": [] });
    expect(expand(cuda)[1]?.cell.requires.cuda?.driver).toEqual({ mode: "host", minimum: "525.60.13" });
  });

  test("has none beside rows with code", () => {
    const cases =
      '{ label: all, cases: [{ when: { cuda: "12.8.1" }, value: ["8.0", "9.0"] }, { value: none }] }';
    expect(codeOf(`${cuda}\n  compute: [${cases}]`)).toEqual({
      none: null,
      "12.8.1_all": ["sm_80", "sm_90"],
      "13.0.2_all": [],
    });
  });

  test("is a value of its own", () => {
    expect(codeOf(`${cuda}\n  compute: ["8.0", none]`)).toMatchObject({
      "12.8.1_8.0": ["sm_80"],
      "12.8.1_none": [],
    });
  });
});

describe("order", () => {
  test("hardware axes come first, the last axis changes fastest, included cells stand at the end", () => {
    expect(
      ids(
        'axes:\n  python: ["3.11", "3.12"]\n  march: [x86-64-v2, x86-64-v3]\ninclude:\n  - { python: "3.9", march: x86-64-v4 }',
      ),
    ).toEqual(["x86-64-v2_3.11", "x86-64-v2_3.12", "x86-64-v3_3.11", "x86-64-v3_3.12", "x86-64-v4_3.9"]);
  });

  test("rules of include mean what they mean in exclude", () => {
    const axes = `axes:
  cuda: [none, ${cudaEntry("12.8.1")}, ${cudaEntry("13.0.2")}]
  compute: ["8.0", "9.0"]
  march: [x86-64-v3]
  backend: [{ value: jax, python: ["3.12", "3.13"] }, { value: torch, python: "3.11" }]\n`;
    const added = (include: string) =>
      ids(`${axes}exclude: [{ backend: jax, cuda: none, reason: x }]\ninclude:\n  - ${include}`).filter(
        (id) => id.includes("v4"),
      );
    expect(added('{ cuda: ["12.*", none], compute: "*", march: x86-64-v4, backend: { not: jax } }')).toEqual([
      "none_x86-64-v4_torch",
      "12.8.1_8.0_x86-64-v4_torch",
      "12.8.1_9.0_x86-64-v4_torch",
    ]);
    expect(
      added('{ cuda: [cu130], compute: { not: "8.0" }, march: x86-64-v4, backend.python: "3.12" }'),
    ).toEqual(["13.0.2_9.0_x86-64-v4_jax"]);
    expect(
      added('{ cuda: "13.0.2", compute: ["8.0", "9.0"], march: x86-64-v4, backend: [jax, torch] }'),
    ).toEqual(["13.0.2_8.0-9.0_x86-64-v4_jax", "13.0.2_8.0-9.0_x86-64-v4_torch"]);
    expect(() => added('{ cuda: ["11.*"], compute: "*", march: x86-64-v4, backend: jax }')).toThrow(
      "no values of the axes match include",
    );
  });

  test("a CPU-only row has no compute capability, so it is one cell per march", () => {
    expect(
      ids(
        `axes:\n  cuda: [none, ${cudaEntry("12.8.1")}]\n  compute: ["8.0", "9.0"]\n  march: [x86-64-v2, x86-64-v3]`,
      ),
    ).toEqual([
      "none_x86-64-v2",
      "none_x86-64-v3",
      "12.8.1_8.0_x86-64-v2",
      "12.8.1_8.0_x86-64-v3",
      "12.8.1_9.0_x86-64-v2",
      "12.8.1_9.0_x86-64-v3",
    ]);
  });

  test("in whatever order the file has them", () => {
    expect(
      ids(`axes:\n  march: [x86-64-v3]\n  compute: ["8.0", "9.0"]\n  cuda: [none, ${cudaEntry("12.8.1")}]`),
    ).toEqual(["none_x86-64-v3", "12.8.1_8.0_x86-64-v3", "12.8.1_9.0_x86-64-v3"]);
  });

  test("the axes of a cell are labels, none where it has no value", () => {
    const cell = cellsOf(`axes:\n  cuda: [none]\n  compute: ["8.0"]\n  march: [x86-64-v2]`)["none_x86-64-v2"];
    expect(cell?.axes).toEqual({ cuda: "none", compute: "none", march: "x86-64-v2" });
  });

  test("a matrix without march is for every machine of x86-64", () => {
    const [only] = expand('axes:\n  python: ["3.12"]');
    expect(only?.cell.platform).toBe("linux/amd64");
    expect(only?.cell.requires.cpu).toEqual({ march: "x86-64", features: findMarch("x86-64")?.features });
  });
});

describe("two vendors in one matrix", () => {
  const accel = `axes:
  accel: [none, { cuda: "12.8.1" }, { rocm: "7.2", template: rocm.hbs }, { accel: vulkan, base: debian:trixie }]
  compute: ["9.0a", gfx942, [gfx90a:xnack-:sramecc+, gfx11-generic]]
  march: [x86-64-v3]`;
  const list = "gfx90a-xnack-off-sramecc-on-gfx11-generic";

  test("a pair of two vendors is no cell and no noise; a row that nobody judges has no compute capability", () => {
    expect(ids(accel)).toEqual([
      "none_x86-64-v3",
      "cuda-12.8.1_9.0a_x86-64-v3",
      "rocm-7.2_gfx942_x86-64-v3",
      `rocm-7.2_${list}_x86-64-v3`,
      "vulkan_x86-64-v3",
    ]);
    expect(skipped(accel)).toEqual({});
    expect(cellsOf(accel)["vulkan_x86-64-v3"]?.axes).toEqual({
      ...{ accel: "vulkan", compute: "none", march: "x86-64-v3" },
    });
  });

  test("each cell requires what its vendor's hosts are asked for, and one without a judge says so", () => {
    const needs = expand(accel).map(({ cell: { requires } }) => ({ ...requires, cpu: null }));
    const toolkit = { toolkit: "12.8.1", driver: { mode: "host", minimum: "525.60.13" } };
    expect(needs).toEqual([
      { cpu: null, cuda: null },
      { cpu: null, cuda: { ...toolkit, code: ["sm_90a"] } },
      { cpu: null, cuda: null, rocm: { release: "7.2", code: ["gfx942"] } },
      { cpu: null, cuda: null, rocm: { release: "7.2", code: ["gfx90a:sramecc+:xnack-", "gfx11-generic"] } },
      { cpu: null, cuda: null, accelerator: "vulkan" },
    ]);
    expect(cellsOf(accel)["rocm-7.2_gfx942_x86-64-v3"]?.settings.template.value).toBe("rocm.hbs");
  });

  test("the limit counts the cells that there are", () => {
    const many = Array.from({ length: 50_000 }, (_, index) => `v${index}`).join(", ");
    const rest = `axes:\n  accel: [{ cuda: "12.8.1" }, { rocm: "7.2" }]\n  compute: ["9.0", gfx942]\n  a: [${many}`;
    expect(expand(`${rest}]`)).toHaveLength(100_000);
    expect(() => expand(`${rest}, more]`)).toThrow("the matrix has 100002 cells");
  });

  test("a release that does not compile for a target; what nobody knows is built", () => {
    const cells = (release: string, computes: string) =>
      Object.values(skipped(`axes:\n  accel: [none, { rocm: "${release}" }]\n  compute: [${computes}]`)).map(
        ({ reason }) => reason,
      );
    expect(cells("6.2.4", "gfx1201, gfx942, [gfx942, gfx9-4-generic], gfx1251")).toEqual([
      "ROCm 6.2.4 does not compile for gfx1201: 6.4 does",
      "ROCm 6.2.4 does not compile for gfx9-4-generic: 6.4 does",
    ]);
    expect(cells("7.2", "gfx940, gfx90a:xnack-")).toEqual(["ROCm compiles for gfx940 no more from 7.0 on"]);
    expect(cells("6.3", "gfx1201, gfx940")).toEqual([]);
    expect(cells("99.9", "gfx942")).toEqual([]);
    const built = (release: string) =>
      expand(`axes:\n  accel: [none, { rocm: "${release}" }]\n  compute: [gfx942, [gfx942, gfx1251]]`).map(
        ({ cell }) => cell,
      );
    expect(unknownTargets([...built("7.2"), ...built("99.9")])).toEqual([
      "whether ROCm 7.2 compiles for gfx1251 is in no table of 2026-11-29: the build will tell",
      "whether ROCm 99.9 compiles for gfx942, gfx1251 is in no table of 2026-11-29: the build will tell",
    ]);
  });
});

describe("impossible cells are listed with their reason", () => {
  test("a toolkit that cannot compile for a GPU", () => {
    expect(
      skipped(
        `axes:\n  cuda: [${cudaEntry("11.8.0")}, ${cudaEntry("13.0.2")}]\n  compute: ["7.0", "8.0", "12.0"]\n  march: [x86-64-v3]`,
      ),
    ).toEqual({
      "11.8.0_12.0_x86-64-v3": { why: "impossible", reason: "CUDA 11.8.0 cannot compile for sm_120" },
      "13.0.2_7.0_x86-64-v3": { why: "impossible", reason: "CUDA 13.0.2 cannot compile for sm_70" },
    });
  });

  test("one target of several, PTX and specific targets too", () => {
    expect(
      Object.values(
        skipped(
          `axes:\n  cuda: [${cudaEntry("11.8.0")}]\n  compute: ["8.0", ["8.0", "12.0"], "9.0a", "10.0f"]\n  march: [x86-64-v3]`,
        ),
      ).map(({ reason }) => reason),
    ).toEqual([
      "CUDA 11.8.0 cannot compile for sm_120",
      "CUDA 11.8.0 cannot compile for sm_90a",
      "CUDA 11.8.0 cannot compile for sm_100f",
    ]);
  });

  test("a march that the base images are not made for", () => {
    expect(
      skipped(
        `axes:\n  cuda: [${cudaEntry("12.8.1", "platforms: [linux/amd64]")}]\n  compute: ["8.0"]\n  march: [x86-64-v3, neoverse-v2]`,
      ),
    ).toEqual({
      "12.8.1_8.0_neoverse-v2": {
        why: "impossible",
        reason: "the base images of cuda 12.8.1 are for linux/amd64, not linux/arm64",
      },
    });
  });

  test("a march that the base image's compiler does not know", () => {
    const axes = `axes:\n  cuda: [${cudaEntry("12.8.1", "compiler: gcc 7.5")}]\n  compute: ["8.0"]\n  march: [broadwell, sapphirerapids]`;
    const old = {
      why: "impossible",
      reason: "gcc 7.5 does not know sapphirerapids, which came with gcc 11",
    };
    expect(skipped(axes)).toEqual({ "12.8.1_8.0_sapphirerapids": old });
    // The entry's own compiler comes before the matrix's.
    expect(skipped(`compiler: gcc 14.2\n${axes}`)).toEqual({ "12.8.1_8.0_sapphirerapids": old });
    expect(skipped(`compiler: clang-16\n${axes.replace(", compiler: gcc 7.5", "")}`)).toEqual({});
  });

  test("a Tegra GPU beside an x86 CPU", () => {
    expect(
      skipped(`axes:\n  cuda: [${cudaEntry("12.8.1")}]\n  compute: ["8.7"]\n  march: [x86-64-v3, armv8-a]`),
    ).toEqual({
      "12.8.1_8.7_x86-64-v3": {
        why: "impossible",
        reason: "compute capability 8.7 is a Tegra chip, which has an Arm CPU, not linux/amd64",
      },
    });
  });

  test("a bundled driver that does not serve the toolkit, or drives none of the cards", () => {
    const cells = (toolkit: string, driver: string, compute: string) =>
      skipped(
        `axes:\n  cuda: [none, { toolkit: "${toolkit}", base: "x/y:1", driver: { mode: bundled, version: "${driver}" } }]\n  compute: [${compute}]\n  march: [x86-64-v3]`,
      );
    expect(cells("12.8.1", "396.44", '"8.0"')).toEqual({
      "12.8.1_8.0_x86-64-v3": {
        why: "impossible",
        reason: "CUDA 12.8.1 needs driver >= 525.60.13, the bundled one is 396.44",
      },
    });
    expect(cells("12.8.1", "590.48.01", '"7.0", "7.0+ptx", ["7.0", "8.0"]')).toEqual({
      "12.8.1_7.0_x86-64-v3": {
        why: "impossible",
        reason: "the bundled driver 590.48.01 drives no card of sm_70 (until 580)",
      },
    });
    expect(cells("9.2.148", "396.44", '"7.0"')).toEqual({});
  });

  test("an included cell too", () => {
    expect(
      skipped(
        `axes:\n  cuda: [${cudaEntry("11.8.0")}]\n  compute: ["8.0"]\n  march: [x86-64-v3]\ninclude:\n  - { cuda: "11.8.0", compute: "12.0", march: x86-64-v3 }`,
      ),
    ).toEqual({
      "11.8.0_12.0_x86-64-v3": { why: "impossible", reason: "CUDA 11.8.0 cannot compile for sm_120" },
    });
  });
});

describe("exclude", () => {
  const gpu = `axes:\n  cuda: [none, ${cudaEntry("12.8.1")}, ${cudaEntry("9.2.148")}]\n  compute: ["7.0", "5.2"]\n  march: [x86-64-v2, { march: sapphirerapids, without: [waitpkg] }]\n`;
  const excluded = (rule: string) =>
    Object.keys(skipped(`${gpu}exclude:\n  - { ${rule}, reason: unused }`)).sort();

  test("a cell has the reason of the first rule that meets it", () => {
    expect(
      skipped(
        'axes:\n  march: [x86-64-v2, x86-64-v3]\nexclude:\n  - { march: x86-64-v2, reason: first }\n  - { march: "*-v2", reason: second }',
      ),
    ).toEqual({ "x86-64-v2": { why: "excluded", reason: "first" } });
  });

  test("the leading parts of a version meet it, other digits do not", () => {
    expect(excluded('cuda: "9.2", compute: "7.0", march: x86-64-v2')).toEqual(["9.2.148_7.0_x86-64-v2"]);
    expect(() => excluded('cuda: "9.1"')).toThrow("no cell matches exclude cuda=9.1");
    expect(() => excluded('cuda: "9.2.1"')).toThrow("no cell matches");
  });

  test("every named axis must match, any of its patterns will do", () => {
    expect(excluded('cuda: ["12.*", none], march: x86-64-v2')).toEqual([
      "12.8.1_5.2_x86-64-v2",
      "12.8.1_7.0_x86-64-v2",
      "none_x86-64-v2",
    ]);
  });

  test("a march without some features is still that march", () => {
    expect(excluded("cuda: none, march: sapphirerapids")).toEqual(["none_sapphirerapids-no-waitpkg"]);
    expect(excluded("cuda: none, march: sapphirerapids-no-waitpkg")).toEqual([
      "none_sapphirerapids-no-waitpkg",
    ]);
  });

  test("compute none is the CPU-only row, platform counts as an axis", () => {
    expect(excluded("compute: none, march: x86-64-v2")).toEqual(["none_x86-64-v2"]);
    expect(() => excluded("platform: linux/arm64")).toThrow("no cell matches exclude platform=linux/arm64");
  });

  test("what cannot be built says so, also when a rule excludes it", () => {
    expect(
      skipped(
        `axes:\n  cuda: [${cudaEntry("11.8.0")}]\n  compute: ["8.0", "12.0"]\n  march: [x86-64-v3]\nexclude:\n  - { compute: "12.0", reason: unused }`,
      )["11.8.0_12.0_x86-64-v3"]?.why,
    ).toBe("impossible");
  });
});

describe("requirements", () => {
  const axes = (cuda: string) =>
    `axes:\n  cuda: [${cuda}]\n  compute: [["8.0", "9.0+ptx"]]\n  march: [x86-64-v3]`;
  const only = (rest: string) => expand(rest)[0]?.cell.requires;

  test("driver of the host: the floor of the toolkit's major, and exactly the code that is compiled", () => {
    expect(only(axes(cudaEntry("12.8.1")))).toEqual({
      cpu: { march: "x86-64-v3", features: findMarch("x86-64-v3")?.features },
      cuda: {
        toolkit: "12.8.1",
        code: ["sm_80", "sm_90", "compute_90"],
        driver: { mode: "host", minimum: "525.60.13" },
      },
    });
  });

  test("before CUDA 11 the floor is the toolkit's own", () => {
    const rest = `axes:\n  cuda: [${cudaEntry("9.2.148")}]\n  compute: ["7.0"]\n  march: [x86-64-v3]`;
    expect(only(rest)?.cuda?.driver).toEqual({ mode: "host", minimum: "396.37" });
  });

  test("bundled and compat drivers as the matrix names them", () => {
    expect(
      only(axes(cudaEntry("12.8.1", 'driver: { mode: bundled, version: "570.124.06" }')))?.cuda?.driver,
    ).toEqual({
      mode: "bundled",
      version: "570.124.06",
    });
    const compat =
      'driver: { mode: compat, package: "570.124.06", cuda: "12.8", branches: ["535"], onPath: cache }';
    expect(only(axes(cudaEntry("12.8.1", compat)))?.cuda?.driver).toEqual({
      mode: "compat",
      package: "570.124.06",
      cuda: "12.8",
      branches: ["535"],
      onPath: "cache",
    });
  });

  test("a package for Jetson is one of another table, and names JetPack's drivers", () => {
    const orin = (driver: string) =>
      `axes:\n  cuda: [${cudaEntry("12.9.1", `driver: { mode: compat, ${driver} }`)}]\n  compute: ["8.7"]\n  march: [armv8.2-a]`;
    expect(only(orin("for: jetson"))?.cuda?.driver).toEqual({
      ...{ mode: "compat", for: "jetson", package: "12.9", cuda: "12.9", branches: ["540"], onPath: "never" },
    });
    expect(() => expand(orin('for: jetson, cuda: "13.4"'))).toThrow(
      "no cuda-compat package for Jetson is known for CUDA 13.4",
    );
  });

  test("NVIDIA_REQUIRE_CUDA of the base image", () => {
    expect(only(axes(cudaEntry("12.8.1", 'require: "cuda>=12.8"')))?.cuda?.require).toBe("cuda>=12.8");
    expect(only(axes(cudaEntry("12.8.1")))?.cuda).not.toHaveProperty("require");
  });

  test("without takes features away, with those that rest on them", () => {
    const march = (value: string) => only(`axes:\n  march: [${value}]`)?.cpu;
    const whole = march("x86-64-v3")?.features ?? [];
    expect(whole).toContain("avx2");
    const less = march("{ march: x86-64-v3, without: [avx] }");
    expect(less?.march).toBe("x86-64-v3");
    expect(whole.filter((feature) => !less?.features.includes(feature))).toEqual([
      "avx",
      "avx2",
      "f16c",
      "fma",
    ]);
  });

  test("the base image's own floor is added to a lower march, and only on its architecture", () => {
    const rest = `axes:\n  cuda: [${cudaEntry("12.8.1", "cpuFloor: x86-64-v2")}]\n  compute: ["8.0"]\n  march: [x86-64, x86-64-v3, neoverse-n1]`;
    const cells = cellsOf(rest);
    const features = (id: string) => cells[id]?.requires.cpu.features;
    expect(features("12.8.1_8.0_x86-64")).toEqual(findMarch("x86-64-v2")?.features);
    expect(features("12.8.1_8.0_x86-64-v3")).toEqual(findMarch("x86-64-v3")?.features);
    expect(features("12.8.1_8.0_neoverse-n1")).toEqual(findMarch("neoverse-n1")?.features);
  });

  test("a CPU-only row requires no GPU", () => {
    expect(only(axes("none"))?.cuda).toBeNull();
  });
});
