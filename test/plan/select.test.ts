import { describe, expect, test } from "vitest";
import { selectCells } from "../../src/plan/plan.ts";
import { parseSelections } from "../../src/plan/select.ts";
import { cudaEntry, expand } from "../support/matrices.ts";

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

  test("a cell by its id, a platform, a value by its label or its own name", () => {
    expect(select("none_x86-64-v2")).toEqual(["none_x86-64-v2"]);
    expect(select("none_*")).toHaveLength(4);
    expect(select("cuda=none,platform=linux/arm64")).toEqual(["none_neoverse-v2"]);
    expect(select("cuda=none,march=spr")).toEqual(["none_spr"]);
    expect(select("cuda=none,march=sapphirerapids")).toEqual(["none_spr"]);
  });

  test("what means no cell, or no axis, is refused", () => {
    expect(() => select("cuda=11.8")).toThrow("SELECTION_EMPTY");
    expect(() => select("none_x86-64-v9")).toThrow("SELECTION_EMPTY");
    expect(() => select("cdua=none")).toThrow('--only names an unknown axis "cdua"');
    expect(() => select("cuda=")).toThrow('"cuda=" in --only cuda= is not axis=value');
    expect(() => select("cuda=none,")).toThrow("is not axis=value");
  });
});
