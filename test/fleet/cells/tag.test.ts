import type { Digest } from "../../../src/oci/digest.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { slug } from "../../../src/oci/slug.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { compileTag } from "../../../src/fleet/cells/tag.ts";
import { cudaEntry, matrixText } from "../../support/matrices.ts";

const inputs: Digest = `sha256:${"0123456789abcdef".repeat(4)}`;
const grammar = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

function tags(rest: string, digest: Digest | null = inputs): (string | null)[] {
  const matrix = parseMatrix(matrixText(rest), "matrix.yaml");
  const { tagOf } = compileTag(matrix);
  return expandMatrix(matrix).map(({ cell }) => tagOf(cell, digest));
}

describe("a tag", () => {
  const gpu = `axes:\n  cuda: [${cudaEntry("12.8.1")}]\n  compute: [["8.6", "8.9"], "9.0+ptx"]\n  march: [x86-64-v3]`;

  test("is version, cell and inputs unless the matrix says otherwise", () => {
    expect(tags(gpu)).toEqual([
      "1.0-12.8.1_8.6-8.9_x86-64-v3-0123456789ab",
      "1.0-12.8.1_9.0-ptx_x86-64-v3-0123456789ab",
    ]);
  });

  test("may name every axis and the platform", () => {
    expect(tags(`tag: "{{name}}_{{ march }}.{{compute}}-{{architecture}}-{{platform}}"\n${gpu}`)).toEqual([
      "app_x86-64-v3.8.6-8.9-amd64-linux-amd64",
      "app_x86-64-v3.9.0-ptx-amd64-linux-amd64",
    ]);
  });

  test("may name the texts of values:", () => {
    const rest = `tag: "{{platform}}-{{os}}"
axes: { platform: [linux/amd64, linux/arm64] }
values: { os: [{ when: { platform: linux/arm64 }, value: "ubuntu 24.04" }, { value: "22.04" }] }`;
    expect(tags(rest)).toEqual(["linux-amd64-22.04", "linux-arm64-ubuntu-24.04"]);
  });

  test("is unique in one repository", () => {
    const rest = (repository: string) => `tag: "{{version}}"
axes: { flavor: [plain, { value: rocm, repository: ${repository} }] }`;
    expect(tags(rest("r.example.com/rocm"))).toEqual(["1.0", "1.0"]);
    expect(() => tags('tag: "{{version}}"\naxes: { flavor: [a, b] }')).toThrow(
      /two cells have the tag "1.0"/,
    );
  });

  test("is not known before the inputs are, unless it does without them", () => {
    expect(tags("axes:\n  march: [x86-64-v3]", null)).toEqual([null]);
    expect(tags('tag: "{{cell}}"\naxes:\n  march: [x86-64-v3]', null)).toEqual(["x86-64-v3"]);
  });

  test("names an accelerator of any vendor by its label, or as its wheels are called", () => {
    const accel =
      'axes:\n  accel: [none, { cuda: "12.8.1", cudnn: "9" }, { rocm: "7.2.1" }, vulkan]\n  compute: ["9.0", gfx90a:xnack+]';
    expect(tags(`tag: "{{accel}}.{{accel.short}}.{{compute}}.{{accel.cudnn}}"\n${accel}`)).toEqual([
      "none.cpu.none.",
      "cuda-12.8.1.cu128.9.0.9",
      "rocm-7.2.1.rocm7.2.gfx90a-xnack-on.",
      "vulkan.vulkan.none.",
    ]);
  });

  test("of a CPU-only row says none", () => {
    expect(
      tags(
        'tag: "{{cuda}}-{{compute}}-{{march}}"\naxes:\n  cuda: [none]\n  compute: ["8.0"]\n  march: [x86-64-v2]',
      ),
    ).toEqual(["none-none-x86-64-v2"]);
  });
});

test("128 characters are a tag, 129 are not", () => {
  const rest = (length: number) =>
    `tag: "${"x".repeat(length - "x86-64-v3".length)}{{march}}"\naxes:\n  march: [x86-64-v3]`;
  expect(tags(rest(128))[0]).toHaveLength(128);
  expect(() => tags(rest(129))).toThrow("129 characters long, the limit is 128");
});

test("any label gives a tag that registries take, or an error at load", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 140, unit: "grapheme" }), (label) => {
      expect(slug(label)).toMatch(/^[A-Za-z0-9._-]*$/);
      const rest = `tag: "{{os}}-{{inputs}}"\naxes:\n  os: [${JSON.stringify(label)}]`;
      try {
        expect(tags(rest)[0]).toMatch(grammar);
      } catch (error) {
        if (!(error instanceof ImgmatchError)) throw error;
        expect(["TAG_INVALID", "MATRIX_VALUE_UNSAFE", "MATRIX_SYNTAX"]).toContain(error.code);
      }
    }),
    { numRuns: 300 },
  );
});
