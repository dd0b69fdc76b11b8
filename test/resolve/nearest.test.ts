import { describe, expect, test } from "vitest";
import { nearestFirst, noMatch } from "../../src/resolve/nearest.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { rankImages, resolveImage } from "../../src/resolve/resolve-image.ts";
import { whyNotImage } from "../../src/resolve/why-not-image.ts";
import { gpuHost, h100, levelV3, v100, type cpuHost } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf, requirement, rocmImage } from "./support/locks.ts";

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

describe("the nearest image", () => {
  const own = findMarch("sapphirerapids")?.features ?? [];
  const sm = (code: string, compute: string, march: string) =>
    gpuImage(cuda("12.8.1", [code]), {
      axes: { cuda: "12.8.1", compute, march },
      requires: requirement(cuda("12.8.1", [code]), march === "x86-64-v3" ? levelV3 : own),
    });
  const cpu = image();
  /** A Sapphire Rapids whose hypervisor hides one feature. */
  const guest = (hidden: string) =>
    gpuHost([h100], "580.159.04", "13.0", {
      cpu: {
        ...{ vendor: "GenuineIntel", model: null, level: "x86-64-v4" },
        features: [...own, ...levelV3].filter((feature) => feature !== hidden),
      },
    });
  const order = (lock: ReturnType<typeof lockOf>, host: ReturnType<typeof cpuHost>) =>
    nearestFirst(lock, rankImages(lock, host).rejected, viewHost(host), {}).map(({ cell }) => cell);

  test.each(["waitpkg", "serialize", "tsxldtrk"])(
    "%s that a hypervisor hides is in nobody's way",
    (hidden) => {
      const lock = lockOf({ "9.0a": sm("sm_90a", "9.0a", "sapphirerapids"), cpu });
      expect(resolveImage(lock, guest(hidden)).match?.cell).toBe("9.0a");
    },
  );

  test("is one for this GPU and a CPU with one feature more, not one for another GPU", () => {
    const cells = {
      "7.0": sm("sm_70", "7.0", "x86-64-v3"),
      "8.9": sm("sm_89", "8.9", "x86-64-v3"),
      "9.0a": sm("sm_90a", "9.0a", "sapphirerapids"),
      wide: image({ requires: { cpu: { march: "sapphirerapids", features: own }, cuda: null } }),
    };
    const lock = lockOf({ ...cells, cpu });
    const host = guest("movdiri");
    const { match, unusedGpus } = resolveImage(lock, host);
    expect([match?.cell, unusedGpus?.nearest]).toEqual([
      "cpu",
      expect.objectContaining({ cell: "9.0a", code: "CPU_FEATURES_MISSING" }),
    ]);
    expect(order(lockOf(cells), host)).toEqual(["9.0a", "8.9", "7.0", "wide"]);
  });

  test("is one for the vendor of the host's GPUs, whatever it needs besides", () => {
    const old = guest("movdiri");
    const host = { ...old, nvidia: old.nvidia && { ...old.nvidia, driver: "470.256.02", cuda: "11.4" } };
    const lock = lockOf({ amd: rocmImage(["gfx942"]), nvidia: sm("sm_70", "7.0", "sapphirerapids") });
    expect(order(lock, host)).toEqual(["nvidia", "amd"]);
  });

  test("is the one whose bundled driver is nearest to the host's, part by part", () => {
    const bundles = (version: string) =>
      gpuImage(cuda("9.2.148", ["sm_70"], { driver: { mode: "bundled", version } }));
    const lock = lockOf({
      "390.30": bundles("390.30"),
      "396.26": bundles("396.26"),
      "396.44": bundles("396.44"),
      "410.48": bundles("410.48"),
    });
    expect(order(lock, gpuHost([v100], "396.45", "9.2"))).toEqual(["396.44", "396.26", "390.30", "410.48"]);
    expect(order(lock, gpuHost([v100], "410.104", "10.0"))).toEqual(["410.48", "396.44", "396.26", "390.30"]);
    expect(refusal(lock, gpuHost([v100], "396.45", "9.2")).problems[0].details?.[0]).toMatch(
      /^ {2}396\.44 and 3 more: /,
    );
  });

  test("no cure proposes to add a cell that is there", () => {
    const lock = lockOf({
      "7.0": sm("sm_70", "7.0", "sapphirerapids"),
      "9.0a": sm("sm_90a", "9.0a", "sapphirerapids"),
    });
    const reasons = whyNotImage(lock, "7.0", guest("movdiri")).reasons;
    expect(reasons.map(({ code, fix }) => `${code}: ${fix}`)).toEqual([
      expect.stringMatching(/^CPU_FEATURES_MISSING: /),
      "NO_GPU_CODE: take 9.0a, which has compute=9.0a",
    ]);
  });
});
