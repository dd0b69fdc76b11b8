/** Texts that took minutes: the time-out of a test is the measure. */

import { expect, test } from "vitest";
import { parseSmiCsv } from "../../src/host/nvidia-smi.ts";
import { secretIn } from "../../src/matrix/secrets.ts";
import { suggest } from "../../src/matrix/suggest.ts";

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
