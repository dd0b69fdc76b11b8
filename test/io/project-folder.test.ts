/** imgmatch's own folder in a project is nothing to git, also where the project has no .gitignore. */

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeProjectFolder } from "../../src/io/project-folder.ts";
import { makeFolder } from "../support/folders.ts";

test("git sees nothing of .imgmatch, and the project's other files as before", () => {
  const root = makeFolder({ "matrix.yaml": "name: app\n" });
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" });
  git("init", "-q");
  makeProjectFolder(root, join(root, ".imgmatch/logs"));
  writeFileSync(join(root, ".imgmatch/logs/cell.log"), "log\n");
  makeProjectFolder(root, join(root, "images"));
  expect(git("status", "--porcelain", "--untracked-files=all")).toBe("?? matrix.yaml\n");
  expect(existsSync(join(root, "images/.gitignore"))).toBe(false);

  // A file that somebody wrote there stays.
  writeFileSync(join(root, ".imgmatch/.gitignore"), "logs\n");
  makeProjectFolder(root, join(root, ".imgmatch/pulumi"));
  expect(readFileSync(join(root, ".imgmatch/.gitignore"), "utf8")).toBe("logs\n");
});
