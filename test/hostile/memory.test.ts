/** Opening an image takes no more memory than docs/inspect.md says, however large its layers are. */

import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { bundled } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";

const whyNot = process.platform === "linux" ? null : "no /proc/self/status";

it("an image of 700 MB in two layers is opened in 300 MB, the threads included", {
  ...needs(whyNot),
  timeout: 180_000,
}, async () => {
  await bundled("src/inspect/workers/inspect-worker.ts", "memory-test/inspect-worker.cjs");
  const define = { IMGMATCH_WORKER: '"./inspect-worker.cjs"' };
  const program = await bundled("test/hostile/large-layer.ts", "memory-test/large-layer.mjs", define);
  const answer = execFileSync(process.execPath, [program], { encoding: "utf8" });
  const { megabytes, found, peakMegabytes } = JSON.parse(answer) as Record<string, unknown>;
  expect(megabytes).toBeGreaterThan(600);
  expect(found).toEqual(
    [
      "opt/a.so",
      "opt/b.so",
      "usr/bin/a-1",
      "usr/bin/a-2",
      "usr/bin/b-1",
      "usr/bin/b-2",
      "usr/lib/a.so",
      "usr/lib/b.so",
    ].map((path) => `/${path}`),
  );
  console.info(answer);
  expect(peakMegabytes).toBeLessThan(300);
});
