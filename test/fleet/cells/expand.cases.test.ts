/** Values that depend on several axes: of compute, and the texts of `values:`. */

import { describe, expect, test } from "vitest";
import { cudaEntry, expand } from "../../support/matrices.ts";
import { problemText } from "../../support/problem-text.ts";

const targets = (rest: string) =>
  Object.fromEntries(
    expand(rest).map(({ cell, skipped }) => [
      cell.id,
      skipped?.reason ?? cell.requires.cuda?.code.join(" ") ?? "",
    ]),
  );

function refusal(rest: string): string {
  try {
    expand(rest);
    return "expanded";
  } catch (error) {
    return problemText(error);
  }
}

/** As vLLM's TORCH_CUDA_ARCH_LIST: by toolkit and CPU architecture. */
const axes = (cases: string) => `axes:
  cuda: [none, ${cudaEntry("12.9.1")}, ${cudaEntry("13.0.2")}]
  march: [x86-64-v3, armv8-a]
  compute:
    - label: all
      cases:
${cases}`;

describe("compute capabilities by case", () => {
  test("are those of the first case that a cell meets", () => {
    expect(
      targets(
        axes(`        - { when: { cuda: "12.*", platform: linux/arm64 }, value: ["8.7", "9.0"] }
        - { when: { platform: linux/arm64 }, value: ["9.0", "11.0"] }
        - { value: ["8.0", "9.0+ptx"] }`),
      ),
    ).toEqual({
      "none_x86-64-v3": "",
      "none_armv8-a": "",
      "12.9.1_all_x86-64-v3": "sm_80 sm_90 compute_90",
      "12.9.1_all_armv8-a": "sm_87 sm_90",
      "13.0.2_all_x86-64-v3": "sm_80 sm_90 compute_90",
      "13.0.2_all_armv8-a": "sm_90 sm_110",
    });
  });

  test("and where none is met, the cell is impossible", () => {
    expect(targets(axes('        - { when: { cuda: "13.0" }, value: "9.0" }'))).toMatchObject({
      "12.9.1_all_armv8-a": "no case of compute all is for it",
      "13.0.2_all_armv8-a": "sm_90",
    });
  });

  test("decide what the image needs, and share it", () => {
    const cells = expand(axes('        - { value: ["8.0"] }')).map(({ cell }) => cell);
    const [one, other] = cells.filter(({ axes: { cuda } }) => cuda === "13.0.2");
    expect(one?.requires.cuda?.code).toEqual(["sm_80"]);
    expect(other?.compute).toBe(one?.compute);
  });
});

const named = (cases: string, more = "") => `axes:
  march: [x86-64-v3, armv8-a]
  ubuntu: ["22.04", "24.04"]
${more}values:
  gcc:
${cases}`;

test("a named text is that of the first case, and brings settings", () => {
  const cells = expand(
    named(`    - { when: { ubuntu: "22.04" }, value: "11", image: old }
    - { when: { ubuntu: "24.04", platform: linux/arm64 }, value: ["13", "14"], target: arm }
    - { target: new }`),
  ).map(({ cell }) => [cell.id, cell.named.gcc?.value, cell.named.gcc?.data, cell.settings.target?.value]);
  expect(cells).toEqual([
    ["x86-64-v3_22.04", "11", { image: "old" }, undefined],
    ["x86-64-v3_24.04", null, { target: "new" }, "new"],
    ["armv8-a_22.04", "11", { image: "old" }, undefined],
    ["armv8-a_24.04", ["13", "14"], { target: "arm" }, "arm"],
  ]);
});

describe("a mistake", () => {
  test.each([
    [
      "a case that another takes all of",
      axes('        - { value: "9.0" }\n        - { when: { cuda: "12.9" }, value: "8.0" }'),
      "matrix.yaml:13:11: MATRIX_CASE_UNUSED: no cell meets the case cuda=12.9 of compute all first",
    ],
    [
      "a case of no cell",
      axes('        - { when: { cuda: "11" }, value: "9.0" }\n        - { value: "8.0" }'),
      "cuda=11 of compute all",
    ],
    [
      "of values",
      named('    - { value: "1" }\n    - { value: "2" }'),
      "no cell meets the case without when of gcc first",
    ],
    ["an unknown axis", named('    - { when: { os: x }, value: "1" }'), 'when names an unknown axis "os"'],
    [
      "compute by itself",
      axes('        - { when: { compute: all }, value: "9.0" }'),
      'when of compute names an unknown axis "compute"',
    ],
    [
      "both forms",
      'axes: { cuda: ["12.8.1"], compute: [{ label: a, value: "9.0", cases: [{ value: "9.0" }] }] }',
      "either value, or label and cases",
    ],
    [
      "no label",
      'axes: { cuda: ["12.8.1"], compute: [{ cases: [{ value: "9.0" }] }] }',
      "either value, or label and cases",
    ],
    [
      "what is no capability",
      axes('        - { value: "9.0 ptx" }'),
      '"9.0 ptx" is not a compute capability',
    ],
    ["an unknown key", axes('        - { value: "9.0", target: x }'), 'unknown key "target"'],
    [
      "the name of an axis",
      named('    - { value: "1" }').replace("gcc:", "ubuntu:"),
      "ubuntu is an axis too",
    ],
    [
      "a reserved name",
      named('    - { value: "1" }').replace("gcc:", "gpu:"),
      "the axis name gpu is reserved",
    ],
    [
      "two that bring one setting",
      named("    - { target: one }", "  os: [{ value: x, target: two }]\n"),
      "os x (line 9) and values.gcc (line 12) set different values of target",
    ],
  ])("is %s", (_, rest, words) => {
    expect(refusal(rest)).toContain(words);
  });
});
