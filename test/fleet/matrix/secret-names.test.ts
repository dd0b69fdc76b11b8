import { describe, expect, test } from "vitest";
import type { ImgmatchError } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { secretIn } from "../../../src/fleet/matrix/secret-names.ts";
import { matrixText } from "../../support/matrices.ts";

// Assembled here, so that no scanner takes this file for a leak.
const token = (prefix: string, length = 40) =>
  `${prefix}${"a1B2".repeat(length)}`.slice(0, prefix.length + length);

describe("what looks like a secret", () => {
  test.each([
    ["GITHUB_TOKEN", "x"],
    ["password", "x"],
    ["DB_PASSWORD", "x"],
    ["CLIENT_SECRET", "x"],
    ["API_KEY", "x"],
    ["SSH_PRIVATE_KEY", "x"],
    ["AWS_CREDENTIALS", "x"],
    ["INDEX_URL", "https://user:hunter2@example.com/simple"],
    ["A", token("ghp_")],
    ["A", token("github_pat_")],
    ["A", token("glpat-", 20)],
    ["A", token("npm_", 36)],
    ["A", token("hf_", 34)],
    ["A", `AKIA${"A1B2".repeat(4)}`],
    ["A", `login ${token("xoxb-", 20)}`],
    ["A", `${token("eyJ", 20)}.${token("eyJ", 20)}.x`],
    ["A", "-----BEGIN OPENSSH PRIVATE KEY-----"],
  ])("%s=%s", (name, value) => {
    expect(secretIn(name, value)).not.toBeNull();
  });

  test.each([
    ["TOKEN", ""],
    ["TOKENIZER", "bpe"],
    ["KEYBOARD", "de"],
    ["MONKEY", "yes"],
    ["PATH_KEYS", "x"],
    ["GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"],
    ["PUBLIC_KEY", "ssh-ed25519 AAAA"],
    ["CACHE_KEY", "v3"],
    ["INDEX_URL", "https://example.com:8443/simple"],
    ["MAINTAINER", "mailto:team@example.com"],
    ["IMAGE", "registry.example.com:5000/team/app:1.0@sha256:abc"],
    ["TASK", "risk-assessment-of-something"],
  ])("%s=%s does not", (name, value) => {
    expect(secretIn(name, value)).toBeNull();
  });
});

test("labels, source and values of axes are looked through as well", () => {
  const hidden = token("ghp_");
  const text = matrixText(
    `source: https://ann:hunter2@example.com/x\nlabels:\n  ci: ${hidden}\naxes:\n  march: [x86-64-v2]\n  python: ["3.12", ${hidden}]`,
  );
  let problems: ImgmatchError["problems"] | undefined;
  try {
    parseMatrix(text, "matrix.yaml");
  } catch (thrown) {
    problems = (thrown as ImgmatchError).problems;
  }
  expect(problems?.map(({ code, message }) => [code, message.split(";")[0]])).toEqual([
    ["MATRIX_SECRET", "source holds a URL with a password"],
    ["MATRIX_SECRET", "labels.ci holds a GitHub token"],
    ["MATRIX_SECRET", "axes.python.1 holds a GitHub token"],
  ]);
  expect(JSON.stringify(problems)).not.toMatch(/hunter2|ghp_/);
});

test("a matrix with secrets is refused with every place, and shows none of them", () => {
  const hidden = token("ghp_");
  const text = matrixText(
    `args:\n  VERSION: "1"\n  A: ${hidden}\n  NPM_TOKEN: hunter2\naxes:\n  march: [x86-64-v2]`,
  );
  let error: ImgmatchError | undefined;
  try {
    parseMatrix(text, "matrix.yaml");
  } catch (thrown) {
    error = thrown as ImgmatchError;
  }
  expect(error?.problems.map(({ code, at }) => [code, at?.file, at?.line, at?.text])).toEqual([
    ["MATRIX_SECRET", "matrix.yaml", 8, undefined],
    ["MATRIX_SECRET", "matrix.yaml", 9, undefined],
  ]);
  expect(error?.message).not.toMatch(/hunter2|ghp_/);
  expect(error?.message).toContain("--mount=type=secret");
});
