/** Opening an image takes no more memory than docs/inspect.md says, however large its layers are. */

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { bundled } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";

const whyNot = process.platform === "linux" ? null : "no /proc/self/status";

describe.each([
  [1, 300],
  [4, 600],
])("an image of 700 MB in two layers", needs(whyNot), (threads, most) => {
  it(`is opened by ${threads} threads in ${most} MB, the threads included`, { timeout: 180_000 }, () =>
    isOpenedIn(threads, most),
  );
});

it("a library of 500 MB is searched for GPU code alone in 250 MB", needs(whyNot), async () => {
  const program = await bundled("test/hostile/large-library.ts", "memory-test/large-library.mjs");
  const answer = execFileSync(process.execPath, [program], { encoding: "utf8" });
  const { targets, cpu, damage, peakMegabytes } = JSON.parse(answer) as Record<string, unknown>;
  expect({ targets, cpu, damage }).toEqual({
    targets: [
      { target: "sm_80", modules: 63 },
      // The first block of a frame is not compressed: the header there is found a second time.
      { target: "sm_90", modules: 126 },
    ],
    cpu: null,
    damage: [],
  });
  console.info(answer);
  expect(peakMegabytes).toBeLessThan(250);
});

async function isOpenedIn(threads: number, most: number): Promise<void> {
  await bundled("src/inspect/workers/inspect-worker.ts", "memory-test/inspect-worker.cjs");
  const define = { IMGMATCH_WORKER: '"./inspect-worker.cjs"' };
  const program = await bundled("test/hostile/large-layer.ts", "memory-test/large-layer.mjs", define);
  const answer = execFileSync(process.execPath, [program, String(threads)], { encoding: "utf8" });
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
  expect(peakMegabytes).toBeLessThan(most);
}
