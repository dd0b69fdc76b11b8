/** The workflows that docs/ci.md shows are what the services' own linters take. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { root } from "./support/markdown.ts";
import { whyNoVersion } from "../support/programs.ts";

const linters = {
  "github.yml": ["actionlint", "-no-color"],
  "github-global.yml": ["actionlint", "-no-color"],
  "github-wheels.yml": ["actionlint", "-no-color"],
  // The schema of GitLab's own editor, which its project publishes and this program carries.
  "gitlab.yml": ["check-jsonschema", "--builtin-schema", "vendor.gitlab-ci"],
} as const;
const installed = {
  "github.yml": "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
  "github-global.yml": "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
  "github-wheels.yml": "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
  "gitlab.yml": "pip3 install check-jsonschema==0.39.0",
} as const;

describe.each(["github.yml", "github-global.yml", "github-wheels.yml", "gitlab.yml"] as const)(
  "%s",
  (name) => {
    const [program, ...flags] = linters[name];
    const missing = needs(whyNoVersion(program, installed[name]));
    const path = join(root, "docs/examples/ci", name);
    const text = readFileSync(path, "utf8");
    const lint = (file: string) => spawnSync(program, [...flags, file], { encoding: "utf8" });

    test("is taken by the linter", missing, () => {
      const { status, stdout, stderr } = lint(path);
      expect(status, `${stdout}${stderr}`).toBe(0);
    });

    test("would not be with a key that does not exist, or of another shape", missing, () => {
      const key = name === "gitlab.yml" ? "script:" : "runs-on:";
      const other = name === "gitlab.yml" ? "parallel: 4" : "steps:";
      for (const broken of [text.replaceAll(key, "skript:"), text.replaceAll(other, "parallel: [{}, x]")]) {
        expect(broken).not.toBe(text);
        expect(lint(join(makeFolder({ [name]: broken }), name)).status).not.toBe(0);
      }
    });
  },
);

test.each([
  ["github.yml", 1],
  ["github-global.yml", 1],
  ["github-wheels.yml", 0],
] as const)(
  "%s names every action by digest, with its version beside it, and may write only where it has to",
  (name, writes) => {
    const text = readFileSync(join(root, "docs/examples/ci", name), "utf8");
    const uses = text.match(/^.*\buses:.*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
    expect(text.match(/contents: write/g) ?? []).toHaveLength(writes);
  },
);
