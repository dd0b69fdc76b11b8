/** Permission is what open says, of real device nodes and for a user who is not root. */

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { bundled } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
chmodSync(folder, 0o755);

const asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const why =
  process.getuid?.() === 0
    ? (whyNot("setpriv", [...asNobody, "true"], { install: "apt-get install util-linux" }) ??
      whyNot("sh", ["-c", `mknod ${folder}/x c 1 3 && : <>${folder}/x`], {
        install: "root of a machine that makes nodes",
      }))
    : "not root, who makes device nodes and gives up rights";

describe("a user who is not root", needs(why), () => {
  const path = (name: string) => join(folder, name);
  // The driver of the last is not there: who gets as far as the driver may open the node.
  const nodes = { "null-0666": "1 3 666", "null-0600": "1 3 600", "no-driver": "242 7 666" };

  it("may open what open opens", async () => {
    for (const [name, words] of Object.entries(nodes)) {
      const [major = "", minor = "", mode = ""] = words.split(" ");
      execFileSync("mknod", ["-m", mode, path(name), "c", major, minor]);
    }
    writeFileSync(path("file-0444"), "", { mode: 0o444 });
    // Nobody may not read the checkout of root.
    copyFileSync(await bundled("test/host/support/may-open.ts", "may-open.mjs"), path("may-open.mjs"));
    const asked = ["null-0666", "null-0600", "no-driver", "file-0444", "absent"];
    const words = [...asNobody, process.execPath, path("may-open.mjs"), ...asked.map(path)];
    const answers = JSON.parse(execFileSync("setpriv", words, { encoding: "utf8" }));
    expect(Object.fromEntries(asked.map((name, at) => [name, answers[at]]))).toEqual({
      "null-0666": true,
      "null-0600": false,
      "no-driver": true,
      "file-0444": false,
      absent: false,
    });
  });
});
