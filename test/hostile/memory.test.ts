/** Opening a layer takes no more memory than docs/inspect.md says, however large it is. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { needs } from "../support/needs.ts";

const program = fileURLToPath(new URL("./large-layer.ts", import.meta.url));
const whyNot = process.platform === "linux" ? null : "no /proc/self/status";

it("a layer of 600 MB is opened in 300 MB", { ...needs(whyNot), timeout: 180_000 }, () => {
  const answer = execFileSync(process.execPath, ["--import", "tsx", program], { encoding: "utf8" });
  const { megabytes, found, peakMiB } = JSON.parse(answer) as Record<string, unknown>;
  expect(megabytes).toBeGreaterThan(600);
  expect(found).toEqual(["/opt/library.so", "/usr/bin/program"]);
  expect(peakMiB).toBeLessThan(300);
});
