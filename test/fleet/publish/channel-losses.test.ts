import { describe, expect, it } from "vitest";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { channelLosses } from "../../../src/fleet/publish/channel-losses.ts";
import { cpuHost, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";

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

describe("free axes, marches and GPU targets", () => {
  const python = (version: string, change: Partial<LockedImage> = {}) =>
    image({ ...change, axes: { march: "x86-64-v2", python: version } });
  const moved = (from: Lock, to: Lock, ...names: (keyof typeof hosts)[]) =>
    channelLosses(
      from,
      to,
      names.map((name) => ({ name, facts: hosts[name] })),
    );
  const two = lockOf({ a: python("3.11"), b: python("3.12") });

  it.each<[string, string[], string[]]>([
    ["a value that goes", ["3.12", "3.13"], ["it has images with python=3.11, and would have none"]],
    ["one that stays beside another", ["3.11", "3.12", "3.13"], []],
    ["patch releases", ["3.11.9", "3.12.4"], []],
  ])("tells %s, with hosts and without", (_, values, lines) => {
    const after = lockOf(Object.fromEntries(values.map((value) => [value, python(value)])));
    expect(moved(two, after)).toEqual(lines);
    expect(moved(two, after, "cpu")).toEqual(lines);
  });

  it("takes a newer patch release, and the next version of an axis without a choice", () => {
    const from = lockOf({ a: python("2.3.0"), b: python("2.4.0") });
    expect(moved(from, lockOf({ a: python("2.3.1"), b: python("2.4.1") }))).toEqual([]);
    expect(moved(from, lockOf({ a: python("2.4.1"), b: python("2.5.0") }))).toEqual([
      "it has images with python=2.3.0, and would have none",
    ]);
    expect(moved(lockOf({ a: python("2.3.0") }), lockOf({ a: python("2.4.0") }))).toEqual([]);
  });

  it("asks each host with each choice", () => {
    const gpu = (version: string) =>
      python(version, { requires: gpuImage(cuda("12.8.1", ["sm_90"])).requires });
    const from = lockOf({ a: gpu("3.11"), b: gpu("3.12") });
    const to = lockOf({ a: python("3.11"), b: gpu("3.12") });
    const line = "the CPU in place of CUDA 12 with python=3.11: new";
    expect(moved(from, to, "new", "cpu")).toEqual([`1 host would get ${line}`]);
    expect(moved(from, to)).toEqual(["it has images for CUDA 12 with python=3.11, and would have none"]);
  });

  it("tells a march and a card that no image serves any more", () => {
    const on = (march: string, features: string[], code: string[]) =>
      image({ requires: { cpu: { march, features }, cuda: cuda("12.8.1", code) } });
    const from = lockOf({
      low: on("x86-64-v2", ["pni"], ["sm_80"]),
      high: on("x86-64-v3", ["avx2", "pni"], ["sm_86", "sm_90"]),
    });
    const high = on("x86-64-v3", ["avx2", "pni"], ["sm_80", "sm_90"]);
    expect(moved(from, lockOf({ high }))).toEqual([
      "it has images for CUDA 12 with sm_80 on x86-64-v2, and would have none",
    ]);
    expect(moved(from, lockOf({ low: on("x86-64-v2", ["pni"], ["sm_80"]) }))).toEqual([
      "it has images for CUDA 12 with sm_90 on x86-64-v3, and would have none",
    ]);
    expect(moved(from, lockOf({ low: on("x86-64-v2", ["pni"], ["compute_80"]) }))).toEqual([]);
  });
});
