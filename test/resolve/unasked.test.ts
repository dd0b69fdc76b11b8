import { describe, expect, it } from "vitest";
import { unaskedLines } from "../../src/resolve/answer-lines.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { nearestFirst } from "../../src/resolve/nearest.ts";
import { type ResolveImageOptions, resolveImage } from "../../src/resolve/resolve-image.ts";
import { avx512, cpuHost, gpuHost, h100, levelV3, v100 } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const gpuOf = (toolkit: string, code: readonly string[], python: string) =>
  gpuImage(cuda(toolkit, code), { axes: { cuda: toolkit, compute: code.join(), python } });
const cpuOf = (python: string) => image({ axes: { cuda: "none", python } });
const host = gpuHost([h100], "570.124.06", "12.8");
const fleet = lockOf({
  "gpu-3.12": gpuOf("12.8.1", ["sm_90"], "3.12"),
  "old-3.11": gpuOf("12.8.1", ["sm_70"], "3.11"),
  "cpu-3.11": cpuOf("3.11"),
  "cpu-3.12": cpuOf("3.12"),
});

it("a package that serves in the driver's place is said", () => {
  const driver = {
    mode: "compat",
    package: "575.57.08",
    cuda: "12.9",
    branches: ["535"],
    onPath: "always",
  } as const;
  const lock = lockOf({ gpu: gpuImage(cuda("12.9.1", ["sm_90"], { driver })) });
  const answer = resolveImage(lock, gpuHost([h100], "535.183.01"));
  expect(answer).toMatchObject({ match: { tier: "forward" }, byPackage: "575.57.08" });
  expect(unaskedLines(answer)).toEqual([
    "forward: the driver is older, its forward-compatibility package 575.57.08 serves where it is loaded",
  ]);
  expect(resolveImage(lock, gpuHost([h100], "575.57.08"))).not.toHaveProperty("byPackage");
});

describe("GPUs that an answer leaves unused", () => {
  it("are said with the nearest image that has GPU code", () => {
    const answer = resolveImage(fleet, host, { pins: { python: "3.11" } });
    expect(answer.match?.cell).toBe("cpu-3.11");
    expect(answer.unusedGpus).toEqual({
      gpus: ["GPU 0 (NVIDIA H100 80GB HBM3)"],
      nearest: {
        cell: "gpu-3.12",
        code: "PIN_MISMATCH",
        message: "python=3.11 is asked for, it is python=3.12",
        fix: "pin python=3.12 or leave the pin out",
      },
    });
  });

  it("are said where the driver is too old", () => {
    const { unusedGpus } = resolveImage(fleet, gpuHost([h100], "470.256.02", "11.4"));
    expect(unusedGpus?.nearest).toMatchObject({ cell: "gpu-3.12", code: "DRIVER_TOO_OLD" });
  });

  it("are said where GPU code fits and the lock prefers another", () => {
    const { unusedGpus } = resolveImage({ ...fleet, prefer: ["cuda=none"] }, host);
    expect(unusedGpus?.nearest).toMatchObject({ cell: "gpu-3.12", code: null });
    expect(resolveImage({ ...fleet, prefer: ["cuda=none"] }, host, { requireGpu: true }).match?.cell).toBe(
      "gpu-3.12",
    );
  });

  it("are said where the fleet has no GPU code at all", () => {
    expect(resolveImage(lockOf({ a: cpuOf("3.11") }), host).unusedGpus).toMatchObject({ nearest: null });
  });

  it.each<[string, ResolveImageOptions, typeof host]>([
    ["--cpu was asked for", { cpuOnly: true }, host],
    ["cuda=none was pinned", { pins: { cuda: "none" } }, host],
    ["the image has GPU code", {}, host],
    ["there is no GPU", {}, cpuHost()],
    ["there is no driver, which is a problem of its own", {}, gpuHost([h100], null)],
  ])("are no word where %s", (_, options, facts) => {
    expect(resolveImage(fleet, facts, options).unusedGpus).toBeUndefined();
  });
});

describe("requireGpu", () => {
  it("takes no image rather than one without GPU code", () => {
    const options = { pins: { python: "3.11" }, requireGpu: true };
    const answer = resolveImage(fleet, host, options);
    expect(answer.match).toBeNull();
    const [nearest] = nearestFirst(fleet, answer.rejected, viewHost(host), options);
    expect(nearest?.cell).toBe("gpu-3.12");
    expect(resolveImage(fleet, host, { requireGpu: true }).match?.cell).toBe("gpu-3.12");
  });

  it("contradicts cpuOnly", () => {
    expect(() => resolveImage(fleet, host, { cpuOnly: true, requireGpu: true })).toThrow(/leave one of them/);
  });
});

describe("free axes that nobody pinned", () => {
  it("are named with the values that fitted", () => {
    const { match, openAxes } = resolveImage(fleet, cpuHost());
    expect(match?.cell).toBe("cpu-3.11");
    expect(openAxes).toEqual([{ axis: "python", value: "3.11", others: ["3.12"] }]);
  });

  it("are no word where one value fits, one is pinned, or the lock prefers the one that won", () => {
    expect(resolveImage(lockOf({ a: cpuOf("3.11") }), cpuHost()).openAxes).toBeUndefined();
    expect(resolveImage(fleet, cpuHost(), { pins: { python: "3.12" } }).openAxes).toBeUndefined();
    expect(resolveImage({ ...fleet, prefer: ["python=3.12"] }, cpuHost()).openAxes).toBeUndefined();
  });
});

describe("the nearest miss", () => {
  it("is what takes the least: a word, an update, an image, other hardware", () => {
    const facts = gpuHost([v100], "470.256.02", "11.4");
    const wide = image({
      requires: {
        cpu: { march: "x86-64-v4", features: [...levelV3, ...avx512, "amx_tile", "amx_int8"] },
        cuda: null,
      },
    });
    const lock = lockOf({
      arm: image({ platform: "linux/arm64" }),
      code: gpuImage(cuda("11.8.0", ["sm_90"], { driver: { mode: "host", minimum: "450.80.02" } })),
      wide,
      far: gpuImage(cuda("12.9.1", ["sm_70"], { driver: { mode: "host", minimum: "575.57.08" } })),
      near: gpuImage(cuda("12.8.1", ["sm_70"])),
      unbuilt: image({ digest: null }),
    });
    const { rejected } = resolveImage(lock, facts);
    expect(nearestFirst(lock, rejected, viewHost(facts), {}).map(({ cell }) => cell)).toEqual([
      "unbuilt",
      "near",
      "far",
      "code",
      "wide",
      "arm",
    ]);
  });
});
