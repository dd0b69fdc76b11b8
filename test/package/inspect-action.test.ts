/** The action `.github/actions/inspect` in the checkout of somebody who wants to run code in the job: with npm, and the package as it is packed. */

import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { environmentOf, shell } from "../support/inspect-action.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };

const whyNoNetwork = whyNot("npm", ["view", "iced-x86", "name"], {
  install: "a network with npm's registry",
});

describe("in a hostile checkout, the action", needs(whyNoNetwork), () => {
  it("runs the package that it names, and nothing of the checkout", () => {
    const tarball = pack();
    const marker = join(makeFolder({}), "ran");
    const evil = `#!/bin/sh\necho "$0" >> "${marker}"\nexec /bin/sh "$@"\n`;
    const script = `require("node:fs").appendFileSync(${JSON.stringify(marker)}, __filename + "\\n");\n`;
    const scripts = { preinstall: `echo preinstall >> ${marker}`, install: `echo install >> ${marker}` };
    const imgmatch = { name: "imgmatch", version, bin: { imgmatch: "cli.js" }, scripts };
    const checkout = makeFolder({
      ".npmrc": `registry=http://127.0.0.1:9/\nfetch-retries=0\nscript-shell=\${PWD}/evil.sh\nnode-options=--require \${PWD}/evil.cjs\nignore-scripts=false\n`,
      "evil.sh": evil,
      "evil.cjs": script,
      "package.json": JSON.stringify({ name: "top", version: "1.0.0", workspaces: ["packages/*"], scripts }),
      "packages/imgmatch/package.json": JSON.stringify(imgmatch),
      "packages/imgmatch/cli.js": script,
      "node_modules/imgmatch/package.json": JSON.stringify(imgmatch),
      "node_modules/imgmatch/cli.js": script,
      "node_modules/.bin/imgmatch": evil,
      "node_modules/.bin/npm": evil,
      "dist/a.whl": "no zip",
    });
    for (const path of ["evil.sh", "node_modules/.bin/imgmatch", "node_modules/.bin/npm"])
      chmodSync(join(checkout, path), 0o755);
    const { status, stdout, stderr } = spawnSync("bash", shell, {
      cwd: checkout,
      env: {
        ...process.env,
        ...environmentOf({ subjects: "dist/*.whl", expect: "sm_80", version: `file:${tarball}` }),
        RUNNER_TEMP: makeFolder({}),
        GITHUB_WORKSPACE: checkout,
      },
      encoding: "utf8",
    });
    expect(existsSync(marker) ? readFileSync(marker, "utf8") : "", stderr).toBe("");
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: expect.stringContaining("not as expected: dist/a.whl"),
    });
  });
});

/** Made from the sources: `dist/` may be another test's. */
function pack(): string {
  const folder = makeFolder({});
  copyFileSync("package.json", join(folder, "package.json"));
  for (const [cwd, ...command] of [
    [".", process.execPath, "scripts/bundle.mjs", join(folder, "dist")],
    [folder, "npm", "pack", "--ignore-scripts"],
  ] as const) {
    const [file, ...args] = command;
    const { status, stderr } = spawnSync(file, args, { cwd, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  }
  return join(folder, `imgmatch-${version}.tgz`);
}
