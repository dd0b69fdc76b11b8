/** Opening a layer takes no more memory than docs/inspect.md says, however large it is. */

import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { bundled } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";

const whyNot = process.platform === "linux" ? null : "no /proc/self/status";

it("a layer of 900 MB is opened in 300 MB, the threads included", {
  ...needs(whyNot),
  timeout: 180_000,
}, async () => {
  await bundled("src/inspect/workers/inspect-worker.ts", "memory-test/inspect-worker.cjs");
  const define = { IMGMATCH_WORKER: '"./inspect-worker.cjs"' };
  const program = await bundled("test/hostile/large-layer.ts", "memory-test/large-layer.mjs", define);
  const answer = execFileSync(process.execPath, [program], { encoding: "utf8" });
  const { megabytes, found, peakMiB } = JSON.parse(answer) as Record<string, unknown>;
  expect(megabytes).toBeGreaterThan(800);
  expect(found).toEqual(["/opt/library.so", "/usr/bin/1", "/usr/bin/2", "/usr/bin/3", "/usr/lib/small.so"]);
  expect(peakMiB).toBeLessThan(300);
});
