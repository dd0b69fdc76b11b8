import { expect, it } from "vitest";
import { channelLosses } from "../../src/resolve/channel-losses.ts";
import { cpuHost, gpuHost, h100 } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "./support/locks.ts";

const thirteen = cuda("13.0.2", ["sm_90"], { driver: { mode: "host", minimum: "580.65.06" } });
const amd = (release: string) =>
  image({ requires: { ...image().requires, rocm: { release, code: ["gfx942"] } } });
const fleets = {
  both: lockOf({ cpu: image(), gpu: gpuImage(cuda("12.8.1", ["sm_90"])) }),
  newer: lockOf({ cpu: image(), gpu: gpuImage(cuda("12.9.1", ["sm_90"])) }),
  thirteen: lockOf({ cpu: image(), gpu: gpuImage(thirteen) }),
  gpuOnly: lockOf({ gpu: gpuImage(thirteen) }),
  cpuOnly: lockOf({ cpu: image() }),
  rocm: lockOf({
    cpu: image(),
    amd: amd("7.2"),
    vulkan: image({ requires: { ...image().requires, accelerator: "vulkan" } }),
  }),
  rocm10: lockOf({ cpu: image(), amd: amd("10.0") }),
} as const;
const hosts = {
  new: gpuHost([h100], "580.95.05"),
  old: gpuHost([h100], "570.124.06"),
  cpu: cpuHost(),
} as const;

const losses = (before: keyof typeof fleets, after: keyof typeof fleets, ...names: (keyof typeof hosts)[]) =>
  channelLosses(
    fleets[before],
    fleets[after],
    names.map((name) => ({ name, facts: hosts[name] })),
  );

it("finds hosts without an image, or with one of another vendor's or CUDA major", () => {
  expect(losses("both", "thirteen", "new", "old", "cpu")).toEqual([
    "1 host would get CUDA 13 in place of CUDA 12: new",
    "1 host would get the CPU in place of CUDA 12: old",
  ]);
  expect(losses("both", "gpuOnly", "old", "cpu")).toEqual([
    "1 host would get no image in place of CUDA 12: old",
    "1 host would get no image in place of the CPU: cpu",
  ]);
});

it("tells vendors, majors of ROCm and accelerators that nobody judges apart", () => {
  expect(losses("rocm", "both")).toEqual([
    "it has images for ROCm 7, and would have none",
    "it has images for vulkan, and would have none",
  ]);
  expect(losses("rocm10", "rocm")).toEqual(["it has images for ROCm 10, and would have none"]);
});

it("finds nothing where a host keeps its major, or gains an image", () => {
  expect(losses("both", "newer", "new", "old", "cpu")).toEqual([]);
  expect(losses("gpuOnly", "both", "cpu")).toEqual([]);
});

it("compares what both have images for where no host is named", () => {
  expect(losses("both", "thirteen")).toEqual(["it has images for CUDA 12, and would have none"]);
  expect(losses("both", "cpuOnly")).toEqual(["it has images for CUDA 12, and would have none"]);
  expect(losses("cpuOnly", "both")).toEqual([]);
});
