import { expect, test } from "vitest";
import { noMatch } from "../../src/resolve/nearest.ts";
import { rankImages } from "../../src/resolve/resolve-image.ts";
import { gpuHost, h100, type cpuHost } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const refusal = (lock: ReturnType<typeof lockOf>, host: ReturnType<typeof cpuHost>, explain = false) =>
  noMatch(lock, rankImages(lock, host), {}, { explain });

test("one line for each reason, and the fix where one change is a cure", () => {
  const lock = lockOf({
    a: gpuImage(cuda("12.8.1", ["sm_70"])),
    b: gpuImage(cuda("12.8.1", ["sm_75"])),
    c: image({ digest: null }),
  });
  const error = refusal(lock, gpuHost([h100], "570.124.06", "12.8"));
  expect(error.code).toBe("NO_MATCH");
  const [{ details, fix }] = error.problems;
  expect(details).toEqual([
    expect.stringMatching(/^ {2}c: NOT_BUILT: /),
    expect.stringMatching(/^ {2}[ab] and 1 more: NO_GPU_CODE: /),
  ]);
  expect(fix).toBe("run imgmatch build");
});

test("what misses by several is explained, not cured by the first", () => {
  const lock = lockOf({ a: gpuImage(cuda("12.8.1", ["sm_70"])) });
  const host = gpuHost([h100], "470.256.02", "11.4");
  expect(refusal(lock, host).problems[0].fix).toContain("--explain");
  expect(refusal(lock, host, true).problems[0].fix).toContain("above");
});

test("a broken host is told as such", () => {
  const host = {
    ...gpuHost([h100], "570.124.06", "12.8"),
    problems: [{ code: "HOST_DRIVER_LIBRARY_MISMATCH", message: "two versions" }] as const,
  };
  expect(refusal(lockOf({ a: gpuImage(cuda("12.8.1", ["sm_90"])) }), host).code).toBe("HOST_BROKEN");
});
