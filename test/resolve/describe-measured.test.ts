/** Fixes for adopted images: there is no matrix to add a cell to. */

import { describe, expect, it } from "vitest";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import type { CudaRequirement } from "../../src/lock/requirement.ts";
import { explainResolution } from "../../src/node/explain.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { whyNotImage } from "../../src/resolve/why-not-image.ts";
import { a100, avx512, cpuHost, gpuHost, h100, levelV3, v100 } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const estimated = { adopted: { cpu: "estimated" }, builder: "others" } as const;
const stated = { adopted: { cpu: "stated" }, builder: "others" } as const;
const v3 = (change: Partial<HostFacts> = {}) =>
  cpuHost({ cpu: { vendor: null, model: null, features: levelV3, level: "x86-64-v3" }, ...change });
const cpu = (march: string, features: readonly string[], change: Partial<LockedImage> = {}) =>
  image({ ...estimated, requires: { cpu: { march, features }, cuda: null }, ...change });
const gpuOf = (toolkit: string, code: readonly string[], driver?: CudaRequirement["driver"]) =>
  gpuImage(cuda(toolkit, code, driver === undefined ? {} : { driver }), estimated);
const cpuOnly = image({ ...estimated, axes: { cuda: "none", march: "x86-64" } });

const fixesOf = (images: Readonly<Record<string, LockedImage>>, host: HostFacts) => {
  const lock = lockOf(images);
  const [cell = ""] = Object.keys(images);
  const fixes = whyNotImage(lock, cell, host).reasons.map(({ fix }) => fix);
  const all = [
    ...fixes,
    ...explainResolution(lock, host),
    ...resolveImage(lock, host).rejected.map(({ fix }) => fix),
  ];
  for (const line of all) expect(line).not.toMatch(/a cell|'s cell|build again|imgmatch build/);
  return fixes;
};

describe("for an image that others built", () => {
  const wide = cpu("x86-64-v4", [...levelV3, ...avx512]);

  it("another image, a march that its owner states, or features in the guest", () => {
    expect(fixesOf({ wide }, v3())).toEqual([
      "adopt an image for CPUs of x86-64-v3, or state what it was built for, where it runs with less (imgmatch adopt --march), or, in a virtual machine, expose avx512bw, avx512cd, avx512dq, avx512f and 1 more to the guest",
    ]);
  });

  it("the one that is there, of the same kind", () => {
    const [fix] = fixesOf({ wide, baseline: cpu("x86-64", []) }, v3());
    expect(fix).toMatch(/^take baseline, which runs here, or state/);
    const gpu = gpuImage(cuda("12.8.1", ["sm_90"]), {
      ...estimated,
      requires: { cpu: wide.requires.cpu, cuda: cuda("12.8.1", ["sm_90"]) },
    });
    const [other] = fixesOf(
      { gpu, baseline: cpu("x86-64", []) },
      v3({ nvidia: gpuHost([h100], "570.124.06", "12.8").nvidia }),
    );
    expect(other).toMatch(/^adopt an image for CPUs of x86-64-v3/);
  });

  it("less of the march that was stated", () => {
    const haswell = findMarch("haswell")?.features ?? [];
    const host = v3({
      cpu: {
        vendor: null,
        model: null,
        features: haswell.filter((name) => name !== "movbe"),
        level: "x86-64-v2",
      },
    });
    const [fix] = fixesOf({ haswell: cpu("haswell", haswell, stated) }, host);
    expect(fix).toMatch(
      /^adopt it again with --without movbe, where no program uses it, or, in a virtual machine/,
    );
  });

  it("another platform, GPU code, toolkit, driver, or none of them", () => {
    expect(fixesOf({ arm: image({ ...estimated, platform: "linux/arm64" }) }, v3())).toEqual([
      "adopt an image for linux/amd64",
    ]);
    expect(fixesOf({ gpu: gpuOf("12.8.1", ["sm_90"]) }, v3())).toEqual([
      "run it on a host with an NVIDIA GPU, or adopt an image without GPU code",
    ]);
    expect(fixesOf({ gpu: gpuOf("12.8.1", ["sm_90"]), cpuOnly }, v3())[0]).toBe(
      "run it on a host with an NVIDIA GPU, or take cpuOnly, which runs here",
    );
    expect(fixesOf({ gpu: gpuOf("12.8.1", ["sm_90"]) }, gpuHost([a100], "570.124.06", "12.8"))).toEqual([
      "adopt an image with code for compute capability 8.0",
    ]);
    expect(fixesOf({ gpu: gpuOf("12.8.1", ["sm_90"]) }, gpuHost([a100, v100], "570.124.06", "12.8"))[0]).toBe(
      "adopt an image with code for compute capability 7.0 and 8.0",
    );
    expect(
      fixesOf(
        { gpu: gpuOf("12.8.1", ["sm_90"], { mode: "bundled", version: "570.124.06" }) },
        gpuHost([h100], "550.54.15"),
      )[0],
    ).toBe("install that driver: 550.54.15 → 570.124.06, or adopt an image that bundles 550.54.15, or none");
    const old = gpuOf("13.0.2", ["sm_80"], { mode: "host", minimum: "580.65.06" });
    expect(
      fixesOf({ old }, gpuHost([{ ...v100, compute: "3.7", name: "Tesla K80" }], "470.256.02", "11.4"))[0],
    ).toContain("adopt an image of an older toolkit: no driver >= 580.65.06 drives GPU 0 (Tesla K80)");
  });

  it("what would serve the host, in the words of images", () => {
    const gap = (images: Readonly<Record<string, LockedImage>>, host: HostFacts) =>
      explainResolution(lockOf(images), host).find((line) => line.startsWith("to serve this host"));
    expect(gap({ wide }, v3())).toBe(
      "to serve this host: adopt an image without GPU code, for CPUs of x86-64-v3 or less",
    );
    expect(gap({ gpu: gpuOf("12.8.1", ["sm_90"]) }, gpuHost([a100], "570.124.06", "12.8"))).toBe(
      "to serve this host: adopt an image with code for compute capability 8.0, of CUDA 12.8 at most, for CPUs of x86-64-v4 or less",
    );
  });
});
