import { describe, expect, it } from "vitest";
import { channelGroups, variantGroups } from "../../../src/fleet/cells/groups.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { cudaEntry, expand, matrixText } from "../../support/matrices.ts";

const axes = `axes:
  cuda: [${cudaEntry("12.8.1")}, ${cudaEntry("13.0.2")}, none]
  compute: ["9.0"]
  march: [x86-64-v3, armv8-a]
  flavor: [full, server]`;

function named(rest: string, groups: typeof channelGroups) {
  const matrix = parseMatrix(matrixText(`${rest}\n${axes}`), "matrix.yaml");
  const cells = expandMatrix(matrix).map(({ cell }) => cell);
  return Object.fromEntries(
    groups(matrix, cells).map(({ name, members }) => [name, members.map(({ id }) => id)]),
  );
}

describe("channels", () => {
  it("select cells, one channel for each value that the name tells", () => {
    const channels = `channels: { latest: "cuda=13.*,flavor=server", "server-{{cuda.short}}": flavor=server }`;
    expect(named(channels, channelGroups)).toEqual({
      latest: ["13.0.2_9.0_x86-64-v3_server", "13.0.2_9.0_armv8-a_server"],
      "server-cu128": ["12.8.1_9.0_x86-64-v3_server", "12.8.1_9.0_armv8-a_server"],
      "server-cu130": ["13.0.2_9.0_x86-64-v3_server", "13.0.2_9.0_armv8-a_server"],
      "server-cpu": ["none_x86-64-v3_server", "none_armv8-a_server"],
    });
  });

  it("know the texts that values bring", () => {
    const text = matrixText(`channels: { "cudnn{{cuda.cudnn}}-{{axis.code}}": platform=linux/arm64 }
axes:
  platform: [linux/amd64, linux/arm64]
  cuda: [{ toolkit: "12.8.1", cudnn: "9" }, { toolkit: "13.0.2", cudnn: "9" }, none]
  compute: ["9.0"]
  axis: [{ value: long, code: a }, { value: longer, code: b }]`);
    const matrix = parseMatrix(text, "matrix.yaml");
    const names = channelGroups(
      matrix,
      expandMatrix(matrix).map(({ cell }) => cell),
    ).map(({ name }) => name);
    expect(names).toEqual(["cudnn9-a", "cudnn9-b", "cudnn-a", "cudnn-b"]);
  });

  it("may join selections", () => {
    expect(
      named('channels: { two: ["cuda=none,march=armv8-a", "13.0.2_9.0_armv8-a_*"] }', channelGroups),
    ).toEqual({
      two: [
        "13.0.2_9.0_armv8-a_full",
        "13.0.2_9.0_armv8-a_server",
        "none_armv8-a_full",
        "none_armv8-a_server",
      ],
    });
  });
});

describe("variants", () => {
  it("join the platforms of each text", () => {
    const variants = 'variants: ["{{version}}-{{cuda.short}}-{{flavor}}"]';
    const found = named(variants, variantGroups);
    expect(Object.keys(found)).toHaveLength(6);
    expect(found["1.0-cu130-server"]).toEqual(["13.0.2_9.0_x86-64-v3_server", "13.0.2_9.0_armv8-a_server"]);
  });
});

it.each([
  [
    'channels: { "a-{{flavour}}": "*" }',
    "TAG_INVALID",
    "channel a-{{flavour}} names {{flavour}}, which does not exist",
  ],
  [
    "channels: { latest: flavour=server }",
    "SELECTION_INVALID",
    'channel latest names an unknown axis "flavour"',
  ],
  ["channels: { latest: flavor=mini }", "SELECTION_EMPTY", "channel latest selects no cell"],
  ['channels: { ".x": "*" }', "TAG_INVALID", '".x" is no tag'],
  ['channels: { "1.0": "*" }', "TAG_COLLISION", '"1.0" is the tag of the version already'],
  [
    'channels: { full: "*", "{{flavor}}": "*" }',
    "TAG_COLLISION",
    '"full" is the tag of another channel or variant already',
  ],
  [
    'tag: "{{cell}}"\nchannels: { none_armv8-a_full: "*" }',
    "TAG_COLLISION",
    '"none_armv8-a_full" is the tag of cell none_armv8-a_full already',
  ],
  [
    'variants: ["{{cuda.short}}-{{flavor}}"]',
    "TAG_INVALID",
    "variant {{cuda.short}}-{{flavor}} does not name the version",
  ],
  [
    'variants: ["{{version}}-{{cuda.short}}"]',
    "TAG_COLLISION",
    "variant 1.0-cu128 has two images of linux/amd64: 12.8.1_9.0_x86-64-v3_full and 12.8.1_9.0_x86-64-v3_server",
  ],
])("refuses %s", (rest, code, message) => {
  let problems: readonly { code: string; message: string; at?: { line?: number } }[] = [];
  try {
    expand(`${rest}\n${axes}`);
  } catch (error) {
    problems = (error as { problems: typeof problems }).problems;
  }
  expect(problems).toContainEqual(expect.objectContaining({ code, message }));
  expect(problems.every(({ at }) => at?.line !== undefined)).toBe(true);
});
