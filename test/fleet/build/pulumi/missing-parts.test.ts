import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findParts } from "../../../../src/pulumi/missing-parts.ts";
import { lockHolders } from "../../../../src/pulumi/workspace.ts";
import { needs } from "../../../support/needs.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "imgmatch-parts-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = (name: string, script: string) => {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
};
const parts = () => findParts({ PATH: folder, HOME: folder });
const plugins = (json: string) => `case "$1" in version) echo v3.230.0;; plugin) echo '${json}';; esac`;

describe(
  "The parts of Pulumi",
  needs(process.platform === "win32" ? "Windows: it has no shell scripts" : null),
  () => {
    it("are named together with the commands that install them", async () => {
      await expect(parts()).rejects.toMatchObject({
        code: "ENGINE_NOT_FOUND",
        problems: [
          {
            message: "--engine pulumi needs the pulumi program and Pulumi's docker plug-in",
            fix: "curl -fsSL https://get.pulumi.com | sh; pulumi plugin install resource docker v5.2.0; or build with --engine docker",
          },
        ],
      });
    });

    it("are one less where only the plug-in is not there", async () => {
      program("pulumi", plugins("[]"));
      await expect(parts()).rejects.toThrow(/needs Pulumi's docker plug-in\n {2}fix: pulumi plugin install/);
    });

    it("are there with an installed plug-in, or one in PATH", async () => {
      program("pulumi", plugins('[{"name":"docker","kind":"resource","version":"5.2.0"}]'));
      expect(await parts()).toEqual({ version: "3.230.0", plugin: "5.2.0", root: null });
      program("pulumi", plugins("[]"));
      program("pulumi-resource-docker", "");
      expect(await parts()).toEqual({ version: "3.230.0", plugin: "PATH", root: null });
    });
  },
);

it("who holds a stack stands in the words of pulumi", () => {
  const words =
    "the stack is currently locked by 1 lock(s).\n  file:///s/locks/x.json?no_tmp_dir=true: created by root@vm (pid 4394) at 2026-11-20T18:13:54Z";
  expect(lockHolders(words)).toEqual([{ host: "vm", pid: 4394 }]);
  expect(lockHolders("another error")).toEqual([]);
});
