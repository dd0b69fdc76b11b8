/** `version: { env: … }` and `{ git: … }`: what becomes of them, and what is refused at its place. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";
import { problemText } from "../../support/problem-text.ts";

const march = "axes:\n  march: [x86-64-v2]";
const files = (version: string) => ({
  "matrix.yaml": matrixText(`version: ${version}\ntemplate: t.hbs\n${march}`),
  "t.hbs": "FROM {{base}}\nRUN cc {{march.flags}}\n",
});

async function versionOf(folder: string, env: Record<string, string> = {}): Promise<string> {
  return (await openFleet(join(folder, "matrix.yaml"), { env })).matrix.version;
}

async function refusal(version: string, env: Record<string, string> = {}): Promise<string> {
  const folder = makeFolder(files(version));
  const text = await versionOf(folder, env).catch(problemText);
  return text.replaceAll(`${folder}/`, "");
}

function git(folder: string, ...args: readonly string[]): void {
  const own = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  execFileSync("git", [...own, ...args], { cwd: folder, stdio: "pipe" });
}

describe("the environment", () => {
  test("has the version; one that is empty is not set, and the default is taken", async () => {
    expect(await refusal("{ env: VERSION }", { VERSION: "1.4.0-rc1" })).toBe("1.4.0-rc1");
    expect(await refusal('{ env: VERSION, default: "0.0" }', { VERSION: "" })).toBe("0.0");
    expect(await refusal('{ env: VERSION, default: "0.0" }', { VERSION: "2" })).toBe("2");
  });

  test("without it is refused at its place", async () => {
    expect(await refusal("{ env: VERSION }")).toBe(
      [
        "matrix.yaml:4:10: VERSION_UNKNOWN: the version is that of the environment's VERSION, which is not set",
        "  version: { env: VERSION }",
        "           ^",
        '  fix: set it, or write { env: VERSION, default: "0.0.0-dev" }',
      ].join("\n"),
    );
  });

  test.each(["feature/x", "1.0 beta", "-x", "x".repeat(129), "a\nRUN b"])(
    "with what is no tag is refused: %j",
    async (VERSION) => {
      expect(await refusal("{ env: VERSION }", { VERSION })).toMatch(/^matrix.yaml:4:10: TAG_INVALID: /);
    },
  );

  test("with a secret is refused, and shows none", async () => {
    const told = await refusal("{ env: NPM_TOKEN }", { NPM_TOKEN: "hunter2" });
    expect(told).toContain("MATRIX_SECRET");
    expect(told).not.toContain("hunter2");
  });
});

describe("git", () => {
  let folder: string;
  beforeAll(() => {
    folder = makeFolder(files("{ git: describe }"));
    git(folder, "init", "--quiet");
    git(folder, "add", ".");
    git(folder, "commit", "--quiet", "--message", "one");
  });

  test("without a tag is refused with what to do, and never guesses", async () => {
    await expect(versionOf(folder)).rejects.toMatchObject({
      problems: [
        {
          code: "VERSION_UNKNOWN",
          message: expect.stringContaining("git does not tell the version: No names found"),
          fix: expect.stringContaining("fetch-depth: 0"),
        },
      ],
    });
  });

  test("says the tag without its v, the commits since, and a changed file", async () => {
    git(folder, "tag", "v1.4.0");
    expect(await versionOf(folder)).toBe("1.4.0");
    writeIn(folder, "untracked", "");
    expect(await versionOf(folder)).toBe("1.4.0");
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "two");
    expect(await versionOf(folder)).toMatch(/^1\.4\.0-1-g[0-9a-f]{12}$/);
    writeIn(folder, "t.hbs", "FROM {{base}}\nRUN c99 {{march.flags}}\n");
    expect(await versionOf(folder)).toMatch(/^1\.4\.0-1-g[0-9a-f]{12}-dirty$/);
    git(folder, "checkout", "--quiet", "t.hbs");
  });

  test("does not call dirty what imgmatch itself has written", async () => {
    writeIn(folder, "images/imgmatch.lock.json", "{}");
    writeIn(folder, "images/x86-64-v2.Dockerfile", "FROM scratch\n");
    git(folder, "add", "images");
    git(folder, "commit", "--quiet", "--message", "images");
    git(folder, "tag", "v2");
    writeIn(folder, "images/imgmatch.lock.json", "{ }");
    writeIn(folder, "images/x86-64-v2.Dockerfile", "FROM other\n");
    expect(await versionOf(folder)).toBe("2");
    writeIn(folder, "images/imgmatch.lock.json", "{}");
  });

  test("says the commit alone where that is asked for, of a folder of the repository too", async () => {
    for (const [path, text] of Object.entries(files("{ git: commit }"))) writeIn(folder, `sub/${path}`, text);
    expect(await versionOf(join(folder, "sub"))).toMatch(/^[0-9a-f]{12}-dirty$/);
    writeIn(folder, "images/x86-64-v2.Dockerfile", "FROM scratch\n");
    expect(await versionOf(join(folder, "sub"))).toMatch(/^[0-9a-f]{12}$/);
  });

  test("outside a repository is refused", async () => {
    const told = await refusal("{ git: describe }");
    expect(told).toMatch(
      /^matrix.yaml:4:10: VERSION_UNKNOWN: git does not tell the version: not a git repository/,
    );
    expect(told).toContain("version: { env: VERSION");
  });
});

test.each([
  ["{ env: A, git: describe }", "names one of env and git"],
  ["{}", "names one of env and git"],
  ["{ git: describe, default: x }", "default belongs to env"],
  ["{ gti: describe }", "did you mean git?"],
  ["{ git: tag }", "version.git"],
  ["{ env: 'A B' }", "must be the name of a variable"],
  ["[1]", "version must be text or a mapping"],
])("version: %s is refused", (version, words) => {
  try {
    parseMatrix(matrixText(`version: ${version}\n${march}`), "m.yaml");
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const text = error.problems.map(formatProblem).join("\n");
    expect(text).toContain(words);
    expect(text).toMatch(/^m\.yaml:5:/);
  }
});
