import { describe, expect, test } from "vitest";
import { parseSelections, selectCells, selectImages } from "../../../src/fleet/cells/select.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { cudaEntry, expand } from "../../support/matrices.ts";

const cells = expand(
  `axes:\n  cuda: [none, ${cudaEntry("12.8.1")}, ${cudaEntry("12.6.3")}]\n  compute: ["9.0"]\n  march: [x86-64-v2, x86-64-v3, { march: sapphirerapids, label: spr, without: [waitpkg] }, neoverse-v2]`,
);
const axes = ["cuda", "compute", "march"];
const select = (...texts: string[]) =>
  selectCells(cells, parseSelections(texts, axes)).map(({ cell }) => cell.id);

describe("--only", () => {
  test("without it every cell is meant", () => expect(select()).toHaveLength(12));

  test("all axes must match, globs and leading parts of versions do", () => {
    expect(select("cuda=none,march=x86-64-*")).toEqual(["none_x86-64-v2", "none_x86-64-v3"]);
    expect(select("cuda=12.8,march=*-v2")).toEqual(["12.8.1_9.0_x86-64-v2", "12.8.1_9.0_neoverse-v2"]);
    expect(select("cuda=12,march=x86-64-v2")).toEqual(["12.8.1_9.0_x86-64-v2", "12.6.3_9.0_x86-64-v2"]);
  });

  test("an axis named twice may match either way", () => {
    expect(select("cuda=none,march=x86-64-v2,march=x86-64-v3")).toEqual(["none_x86-64-v2", "none_x86-64-v3"]);
  });

  test("several options are added up, in the order of the matrix", () => {
    expect(select("cuda=12.6,march=x86-64-v2", "cuda=none,march=x86-64-v2")).toEqual([
      "none_x86-64-v2",
      "12.6.3_9.0_x86-64-v2",
    ]);
  });

  test("an accelerator by its label, by the leading parts of its version, and as its wheels are called", () => {
    const fleet = expand(
      'axes:\n  accel: [none, { cuda: "12.8.1" }, { rocm: "7.2" }, vulkan]\n  compute: ["9.0", gfx942, gfx90a:xnack+, gfx90a:xnack-]',
    );
    const found = (text: string) =>
      selectCells(fleet, parseSelections([text], ["accel", "compute"])).map(({ cell }) => cell.id);
    for (const text of ["accel=rocm-7.2", "accel=rocm-7", "accel=rocm7.2", "accel=7.2", "accel=rocm-*"])
      expect(found(text), text).toEqual([
        "rocm-7.2_gfx942",
        "rocm-7.2_gfx90a-xnack-on",
        "rocm-7.2_gfx90a-xnack-off",
      ]);
    for (const text of ["accel=cuda-12", "accel=12.8", "accel=cu128"])
      expect(found(text)).toEqual(["cuda-12.8.1_9.0"]);
    expect(found("accel=cpu")).toEqual(["none"]);
    expect(found("accel=vulkan")).toEqual(["vulkan"]);
    expect(found("compute=gfx90a:xnack-")).toEqual(["rocm-7.2_gfx90a-xnack-off"]);
  });

  test("a cell by its id, a platform, a value by its label or its own name", () => {
    expect(select("none_x86-64-v2")).toEqual(["none_x86-64-v2"]);
    expect(select("none_*")).toHaveLength(4);
    expect(select("cuda=none,platform=linux/arm64")).toEqual(["none_neoverse-v2"]);
    expect(select("cuda=none,march=spr")).toEqual(["none_spr"]);
    expect(select("cuda=none,march=sapphirerapids")).toEqual(["none_spr"]);
  });

  test.each<[string, string[]]>([
    ["a cell beside a good one", ["none_x86-64-v2,none_x86-64-v4"]],
    ["an option beside a good one", ["none_x86-64-v2", "march=x86-64-v4"]],
    ["a value beside a good one", ["march=x86-64-v2,march=x86-64-v4"]],
    ["a glob beside a good one", ["none_*,12.9*"]],
    ["a combination beside a good one", ["none_spr", "platform=linux/arm64,march=spr"]],
  ])("%s is refused, and nothing is selected", (_, texts) =>
    expect(() => select(...texts)).toThrow(/SELECTION_(INVALID|EMPTY): no cell .*(v4|12\.9|spr)/),
  );

  test("all that is wrong is said at once", () => {
    expect(() => select("good,typo,cuda=none".split(",cuda")[0] ?? "")).toThrow(/good.*\n.*\n.*typo/);
  });

  test("what means no cell, or no axis, is refused", () => {
    expect(() => select("cuda=11.8")).toThrow(
      "SELECTION_INVALID: no cell has cuda=11.8\n  fix: cuda has none, 12.8.1, 12.6.3",
    );
    expect(() => select("none_x86-64-v9")).toThrow(
      "SELECTION_INVALID: no cell is none_x86-64-v9\n  fix: did you mean none_x86-64-v2?",
    );
    expect(() => select("cuda=none,platform=linux/arm64,march=spr")).toThrow(
      "SELECTION_EMPTY: no cell has cuda=none,platform=linux/arm64,march=spr",
    );
    expect(() => select("cdua=none")).toThrow('--only names an unknown axis "cdua"');
    expect(() => select("cuda=")).toThrow('"cuda=" in --only cuda= is not axis=value');
    expect(() => select("cuda=none,")).toThrow("is not axis=value");
  });
});

describe("--only on a lock", () => {
  const lock = lockOf({
    one: image({ axes: { cuda: "12.8.1", python: "3.12" } }),
    two: image({ axes: { cuda: "12.8.1", python: "3.11" }, platform: "linux/arm64" }),
    "three-cpu": image({ axes: { cuda: "none", python: "3.12" } }),
  });
  const chosen = (...texts: string[]) => Object.keys(selectImages(lock, texts).images);

  test.each<[string[], string[]]>([
    [[], ["one", "two", "three-cpu"]],
    [["cuda=12.8,python=3.12"], ["one"]],
    [
      ["three-*", "platform=linux/arm64"],
      ["two", "three-cpu"],
    ],
  ])("%j means %j", (texts, cells) => expect(chosen(...texts)).toEqual(cells));

  test("a selection without an image, and an axis that none has", () => {
    expect(() => chosen("python=2")).toThrow(expect.objectContaining({ code: "SELECTION_EMPTY" }));
    expect(() => chosen("os=debian")).toThrow(expect.objectContaining({ code: "SELECTION_INVALID" }));
  });
});

describe("a rule of exclude or when", () => {
  const built = (rule: string, when = "") =>
    expand(
      `axes:
  platform: [linux/amd64, linux/arm64]
  backend: [{ value: torch, python: "3.12" }, { value: jax, python: ["3.12", "3.13"] }, plain]
values: { jobs: [${when} { value: "2" }] }
exclude: [{ ${rule}, reason: r }]`,
    ).flatMap(({ cell, skipped }) => (skipped === null ? [`${cell.id}:${cell.named.jobs?.value}`] : []));

  test("with not is about every other value, or list of values", () => {
    expect(built("backend: { not: torch }")).toEqual(["linux-amd64_torch:2", "linux-arm64_torch:2"]);
    expect(built("backend: { not: [torch, jax] }, platform: { not: arm64 }")).not.toContain(
      "linux-amd64_plain:2",
    );
    expect(built("backend: plain", '{ when: { platform: { not: linux/arm64 } }, value: "8" },')).toEqual([
      "linux-amd64_torch:8",
      "linux-amd64_jax:8",
      "linux-arm64_torch:2",
      "linux-arm64_jax:2",
    ]);
  });

  test("sees the keys that a value brings", () => {
    const when = '{ when: { backend.python: "3.13" }, value: "8" },';
    expect(built('backend.python: { not: ["3.12"] }, platform: amd64', when)).toEqual([
      "linux-amd64_torch:2",
      "linux-amd64_jax:8",
      "linux-arm64_torch:2",
      "linux-arm64_jax:8",
      "linux-arm64_plain:2",
    ]);
    expect(() => built("backend.pyton: a")).toThrow(/backend.pyton, a key that no value of backend has/);
    expect(() => built("backnd.python: a")).toThrow(/unknown axis "backnd"/);
    expect(() => built("backend: { no: a }")).toThrow(/unknown key "no"/);
  });
});
