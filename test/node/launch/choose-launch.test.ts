import { describe, expect, it } from "vitest";
import { questionKeys } from "../../../src/node/launch/labels/image-labels.ts";
import { chooseLaunch } from "../../../src/node/launch/choose-launch.ts";
import { launchTarget, launchTargets } from "../../../src/node/launch/launch-targets.ts";
import { a100, amdHost, cpuHost, gpuHost, h100, mi300x } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, requirement, rocm } from "../../resolve/support/locks.ts";

const { docker, kubernetes } = launchTargets;
const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"])), cpu: image() });
const host = gpuHost([a100, h100], "570.124.06", "12.8");
const busy = { ...h100, use: { processes: 1, memoryMiB: 40000 } };
const units = (choice: ReturnType<typeof chooseLaunch>) =>
  choice.ok ? choice.request.units?.map(({ name }) => name) : choice.taken.map(({ unit }) => unit.name);

describe("a launch on this host", () => {
  it("has the image for the GPUs that it gets", () => {
    const choice = chooseLaunch(docker, lock, host, { gpus: "device=1" });
    expect(units(choice)).toEqual(["1"]);
    expect(choice).toMatchObject({ ok: true, request: { requires: lock.images.gpu?.requires }, unasked: {} });
  });

  it("gives an image without GPU code no GPU, and says that they stay unused", () => {
    const old = gpuHost([a100], "470.256.02", "11.4");
    const choice = chooseLaunch(docker, lock, old);
    expect(units(choice)).toEqual([]);
    expect(choice).toMatchObject({ unasked: { unusedGpus: { nearest: { cell: "gpu" } } } });
  });

  it("is refused for GPUs by number that no image has a use for", () => {
    const old = gpuHost([a100], "470.256.02", "11.4");
    expect(() => chooseLaunch(docker, lock, old, { gpus: "1" })).toThrow(
      expect.objectContaining({ code: "NO_MATCH", message: expect.stringContaining("gpu: DRIVER_TOO_OLD") }),
    );
  });

  it("is refused for a GPU in use, unless the target's scheduler picks it", () => {
    const used = gpuHost([busy], "570.124.06", "12.8");
    expect(chooseLaunch(docker, lock, used)).toMatchObject({ ok: false, wanted: 1, free: [] });
    expect(chooseLaunch(docker, lock, used, { allowBusy: true }).ok).toBe(true);
    expect(units(chooseLaunch(kubernetes, lock, used, { gpus: "1" }))).toEqual(["0"]);
  });

  it("keeps to the nodes that advertise the image, or to none", () => {
    const tag = lock.images.cpu?.tag ?? "";
    const node = { key: questionKeys(lock).image, value: tag };
    expect(chooseLaunch(kubernetes, lock, cpuHost())).toMatchObject({ request: { node } });
    expect(chooseLaunch(kubernetes, lock, cpuHost(), { anywhere: true })).toMatchObject({
      request: { node: null },
    });
  });
});

describe("a launch on a host with AMD GPUs", () => {
  const forAmd = { ...requirement(null), rocm: rocm("7.2", ["gfx942"]) };
  const amd = amdHost([mi300x, mi300x]);
  const ofAmd = lockOf({ rocm: image({ requires: forAmd }) });

  it("hands them out, by number too; a number of them is refused, as nobody knows who uses them", () => {
    expect(units(chooseLaunch(docker, ofAmd, amd))).toEqual(["0", "1"]);
    expect(units(chooseLaunch(docker, ofAmd, amd, { gpus: "device=1" }))).toEqual(["1"]);
    expect(chooseLaunch(docker, ofAmd, amd, { gpus: "1" })).toMatchObject({ ok: false, taken: [{}, {}] });
    expect(units(chooseLaunch(docker, ofAmd, amd, { gpus: "1", allowBusy: true }))).toEqual(["0"]);
    expect(units(chooseLaunch(kubernetes, ofAmd, amd, { gpus: "2" }))).toEqual(["0", "1"]);
  });

  it("gives an image with code of both vendors the GPUs of the one that it has here", () => {
    const both = lockOf({ both: image({ requires: { ...forAmd, cuda: cuda("12.8.1", ["sm_80"]) } }) });
    const asked = { allowBusy: true } as const;
    expect(chooseLaunch(docker, both, amd)).toMatchObject({ request: { requires: { cuda: null } } });
    expect(units(chooseLaunch(docker, both, amd))).toEqual(["0", "1"]);
    expect(
      units(chooseLaunch(docker, both, { ...gpuHost([a100], "570.124.06", "12.8"), amd: null })),
    ).toEqual(["0"]);
    const mixed = { ...gpuHost([a100], "570.124.06", "12.8"), amd: amd.amd };
    expect(units(chooseLaunch(docker, ofAmd, mixed))).toEqual(["amd:0", "amd:1"]);
    expect(units(chooseLaunch(docker, ofAmd, mixed, { gpus: "2", ...asked }))).toEqual(["amd:0", "amd:1"]);
  });
});

it("names the targets that there are", () => {
  expect(launchTarget("docker")).toBe(docker);
  for (const name of ["dokcer", "constructor"])
    expect(() => launchTarget(name)).toThrow(expect.objectContaining({ code: "USAGE" }));
});
