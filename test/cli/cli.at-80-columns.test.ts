/** What people see in a terminal of 80 columns. */

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const color = { out: false, err: false };
const terminal = { animated: false, interactive: true, columns: 80, width: 80, color };
const vision = resolve("docs/examples/vision");
const cover = [`${vision}/hosts`, "--lock", `${vision}/images/imgmatch.lock.json`];
const fits = (line: string) => line.length <= 80 || !line.replace(/^ +(\w+: )?/, "").includes(" ");

it.each([
  ["cover", ...cover],
  ["cover", ...cover, "--pull-plan"],
  ["cover", ...cover, "--what-if", "driver=580.95.05", "--check", "every host served"],
  ["plan"],
  ["plan", "--all"],
])("fits: %j", async (...args) => {
  const cwd = vision;
  const { out } = await runInProcess(args, { cwd, terminal });
  const unlimited = await runInProcess(args, { cwd });
  expect(unlimited.out.split("\n").every(fits)).toBe(false);
  expect(out.split("\n").filter((line) => !fits(line))).toEqual([]);
  const words = new Set(out.split(/:?\s+/));
  const lost = unlimited.out.split(/:?\s+/).filter((word) => word !== "-" && !words.has(word));
  expect(lost).toEqual([]);
});

it("names a wheel once", async () => {
  const wheel = "kernels-2.9.1-cp312-cp312-manylinux_2_28_x86_64.manylinux_2_34_x86_64.whl";
  const code = [70, 75, 80, 86, 89, 90, 100, 103, 120].map((arch) =>
    makeEntry({ kind: 2, arch, version: [1, 7] }),
  );
  const cwd = makeFolder({});
  writeFileSync(
    join(cwd, wheel),
    makeZip([{ path: "kernels/kernels.fatbin", content: makeContainer(code) }]),
  );
  const { out } = await runInProcess(["inspect", wheel], { cwd, terminal });
  expect(out.split("\n").filter((line) => !fits(line))).toEqual([]);
  expect(out.split(wheel)).toHaveLength(2);
  expect(out).toContain("  /kernels/kernels.fatbin");
});
