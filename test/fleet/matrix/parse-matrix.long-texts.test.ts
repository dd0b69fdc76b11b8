/** Texts that took minutes: the time-out of a test is the measure. */

import { expect, test } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { parseSmiCsv } from "../../../src/host/nvidia/nvidia-smi.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { secretIn } from "../../../src/fleet/matrix/secret-names.ts";
import { suggest } from "../../../src/io/suggest.ts";

const size = 1024 * 1024;

test.each(["a.", "eyJ-", "a://", "-----BEGIN ", "ghp_"])(
  "1 MiB of %s is looked through for secrets",
  (part) => {
    secretIn("ARG", part.repeat(size / part.length));
  },
);

test("a signed token is still found", () => {
  const token = `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.sig`;
  for (const value of [token, `x=${token}`, `a-${token}`])
    expect(secretIn("ARG", value)).toBe("a signed token (JWT)");
});

test("128 KiB of [ from nvidia-smi", () => {
  expect(parseSmiCsv("[".repeat(128 * 1024))).toBeNull();
  expect(parseSmiCsv(`name, memory.total [MiB]\n${"[".repeat(128 * 1024)}`)?.gpus).toEqual([]);
});

test("1 MiB where a word is expected", () => {
  expect(suggest("a".repeat(size), ["name", "b".repeat(1000)])).toBeNull();
});

test("a matrix of 60,000 labels", () => {
  const labels = Array.from({ length: 60_000 }, (_, index) => `  label${index}: value${index}\n`).join("");
  const axes = "axes:\n  march: [x86-64]\n";
  const text = `name: app\nversion: 1\nregistry: r.example.com/t\ntemplate: a/b\n${axes}labels:\n${labels}`;
  expect(Object.keys(parseMatrix(text, "matrix.yaml").labels)).toHaveLength(60_000);
});

test.each([
  [
    "3 MiB",
    "#".repeat(3 * size),
    "matrix.yaml: INPUT_TOO_LARGE: the matrix has 3145728 bytes, the limit is 2097152",
  ],
  [
    "characters of three bytes",
    "€".repeat(size),
    "matrix.yaml: INPUT_TOO_LARGE: the matrix has 3145728 bytes, the limit is 2097152",
  ],
  [
    "[ in [",
    "a: ".concat("[".repeat(size)),
    "matrix.yaml:1:68: INPUT_TOO_LARGE: lists and mappings are nested deeper than 64",
  ],
  [
    "- in -",
    "- ".repeat(size / 2),
    "matrix.yaml:1:130: INPUT_TOO_LARGE: lists and mappings are nested deeper than 64",
  ],
])("a matrix of %s is refused", (_, text, message) => {
  expect(refusal(text).message).toContain(message);
});

test("1 MiB of quotation marks is refused in few and short words", () => {
  const { problems, message } = refusal('"'.repeat(size));
  expect(problems).toHaveLength(101);
  expect(problems.at(-1)?.message).toMatch(/^at least \d{6} more problems are not listed$/);
  expect(message.length).toBeLessThan(100_000);
});

function refusal(text: string): ImgmatchError {
  try {
    parseMatrix(text, "matrix.yaml");
  } catch (error) {
    if (error instanceof ImgmatchError) return error;
    throw error;
  }
  throw new Error("it is not refused");
}
