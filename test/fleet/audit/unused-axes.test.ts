/** Images that are built and measured, and an axis that made no difference to them. */

import { describe, expect, test } from "vitest";
import { unusedAxes } from "../../../src/fleet/audit/unused-axes.ts";
import type { Cell } from "../../../src/fleet/cells/cell.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import type { ImageEffect } from "../../../src/lock/image-audit.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";

const marches = "march: [x86-64-v2, x86-64-v3]";
const gpu = `cuda: ["12.8"], compute: ["8.0", "9.0"]`;
const code = (text: string): ImageEffect => ({
  code: digestOf(text),
  layers: null,
  settings: null,
  ignoresMarch: false,
  uncompiled: [],
});
/** Of an image without a program of its own. */
const plain = (layers: string, settings: string): ImageEffect => ({
  ...code(""),
  code: null,
  layers: digestOf(layers),
  settings: digestOf(settings),
});
const pythons = 'python: ["3.11", "3.12"]';
const messages = (axes: string, effectOf: (cell: Cell) => ImageEffect) =>
  unusedAxes(madeOf(axes, effectOf)).map(({ problem }) => problem.message);

describe("an axis makes no difference", () => {
  test("where cells that differ in it have the same programs", () => {
    const [found, ...more] = unusedAxes(madeOf(marches, () => code("one")));
    expect(more).toEqual([]);
    expect(found).toMatchObject({
      cells: ["x86-64-v2", "x86-64-v3"],
      problem: {
        code: "AUDIT_AXIS_UNUSED",
        message:
          "march makes no difference: x86-64-v2, x86-64-v3 differ in it, and no program or library of theirs does",
      },
    });
    expect(found?.problem.fix).toContain("a Makefile that assigns CC or CFLAGS itself");
  });

  test("where nothing of it is in the files: told once, and not once more as cells that are alike", () => {
    const found = messages(marches, () => ({ ...code("one"), ignoresMarch: true }));
    expect(found).toEqual([
      "march makes no difference: no own file of x86-64-v2, x86-64-v3 has an instruction beyond the baseline",
    ]);
  });

  test("where GPU code that was asked for is in no file", () => {
    const found = messages(gpu, ({ axes }) => ({
      ...code("one"),
      uncompiled: [`sm_${axes.compute?.replace(".", "")}`],
    }));
    expect(found).toEqual([
      "compute makes no difference: no file of 12.8_8.0, 12.8_9.0 has code for sm_80, sm_90",
    ]);
  });

  test("each axis by its own name", () => {
    const found = messages(`${gpu}, ${marches}`, ({ axes }) => code(axes.march ?? ""));
    expect(found.map((text) => text.split(" ")[0])).toEqual(["compute"]);
  });
});

test.each([
  ["march", marches, "x86-64-v2, x86-64-v3 differ in it, and no program or library of theirs does"],
  ["python", pythons, "3.11, 3.12 differ in it, and no file and no setting of theirs does"],
])("%s makes no difference where images without a program have the same layers", (axis, axes, why) => {
  const found = messages(axes, () => plain("one", "one"));
  expect(found).toEqual([`${axis} makes no difference: ${why}`]);
});

describe("nothing is said", () => {
  test.each<[string, string, (cell: Cell) => ImageEffect]>([
    ["where the programs differ", marches, ({ id }) => code(id)],
    ["where they are not known", marches, () => ({ ...code(""), code: null })],
    ["of a free axis where the programs are the same, and data may differ", pythons, () => code("one")],
    ["of a free axis that data tells apart", pythons, ({ id }) => plain(id, "one")],
    ["of a free axis that the environment tells apart", pythons, ({ id }) => plain("one", id)],
    ["of one march for each platform", "march: [x86-64-v3, neoverse-n1]", () => code("one")],
  ])("%s", (_, axes, effectOf) => {
    expect(messages(axes, effectOf)).toEqual([]);
  });
});

test("ten thousand cells give one line for an axis, with how many more there are", () => {
  const count = 5000;
  const [found] = unusedAxes(
    madeOf(`${marches}, n: [${Array.from({ length: count }, (_, n) => `n${n}`).join(", ")}]`, ({ axes }) =>
      code(axes.n ?? ""),
    ),
  );
  expect(found?.cells).toHaveLength(2 * count);
  expect(found?.problem.message).toContain("and 9996 more differ in it");
});

function madeOf(axes: string, effectOf: (cell: Cell) => ImageEffect) {
  const text = `name: app\nregistry: reg.example.com\nversion: "1"\ntemplate: app.hbs\naxes: { ${axes} }\n`;
  return expandMatrix(parseMatrix(text, "matrix.yaml")).flatMap(({ cell, skipped }) =>
    skipped === null ? [{ cell, effect: effectOf(cell) }] : [],
  );
}
