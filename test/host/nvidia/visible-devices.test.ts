import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import type { GpuFacts } from "../../../src/facts/facts.ts";
import type { HostIo } from "../../../src/host/host-io.ts";
import { applyVisibility, narrowGpus, selectGpus } from "../../../src/host/nvidia/visible-devices.ts";

function gpu(index: number, mig: readonly string[] | null = null): GpuFacts {
  return {
    index,
    uuid: `GPU-${index}${index}${index}a-b`,
    name: "NVIDIA A100-SXM4-80GB",
    compute: "8.0",
    pci: "10de:20b2",
    bus: null,
    memoryMiB: 81920,
    class: "datacenter",
    integrated: false,
    mig: mig?.map((uuid) => ({ uuid, profile: "1g.10gb" })) ?? null,
    use: { processes: 0, memoryMiB: 0 },
  };
}

const gpus = [gpu(0), gpu(1), gpu(2, ["MIG-aaaa", "MIG-abbb"]), gpu(3)];
const pick = (text: string, grammar: "cuda" | "nvidia") => {
  const { gpus: picked, invalid } = selectGpus(gpus, text, grammar);
  return [
    picked
      .map(({ index, mig }) =>
        mig == null ? `${index}` : `${index}:${mig.map(({ uuid }) => uuid).join("+")}`,
      )
      .join(" "),
    invalid,
  ];
};
const whole = "2:MIG-aaaa+MIG-abbb";

describe("CUDA_VISIBLE_DEVICES", () => {
  it.each([
    ["0,3", "0 3", null],
    ["3,0", "0 3", null],
    [" 1 , 2 ", `1 ${whole}`, null],
    ["", "", null],
    ["-1", "", null],
    ["0,-1,1", "0", "-1"],
    ["0,9,1", "0", "9"],
    ["GPU-1", "1", null],
    ["GPU-111a-b,0", "0 1", null],
    ["GPU-", "", "GPU-"],
    ["GPU-zzz,0", "", "GPU-zzz"],
    ["MIG-aa", "2:MIG-aaaa", null],
    ["MIG-a", "", "MIG-a"],
    ["all", "", "all"],
    ["none", "", null],
    ["NoDevFiles", "", null],
    ["0,,1", "0", ""],
  ])("%j makes %j visible", (text, visible, invalid) => {
    expect(pick(text, "cuda")).toEqual([visible, invalid]);
  });
});

describe("NVIDIA_VISIBLE_DEVICES", () => {
  it.each([
    ["all", `0 1 ${whole} 3`, null],
    ["none", "", null],
    ["void", "", null],
    ["0,2", `0 ${whole}`, null],
    ["2:1", "2:MIG-abbb", null],
    ["2:0,2:1", whole, null],
    ["2:1,2", whole, null],
    ["MIG-aaaa", "2:MIG-aaaa", null],
    ["MIG-aa", "", "MIG-aa"],
    ["GPU-333a-b", "3", null],
    ["gpu-333A-B", "3", null],
    ["9,1", "1", "9"],
  ])("%j makes %j visible", (text, visible, invalid) => {
    expect(pick(text, "nvidia")).toEqual([visible, invalid]);
  });
});

describe("--gpus", () => {
  it("narrows", () => {
    expect(narrowGpus(gpus, "0,3").map(({ index }) => index)).toEqual([0, 3]);
    expect(narrowGpus(gpus, "all")).toEqual(gpus);
    expect(narrowGpus(gpus, "none")).toEqual([]);
  });

  it("refuses a GPU that is not there, naming those that are", () => {
    const slip = () => narrowGpus(gpus, "0,4");
    expect(slip).toThrow(ImgmatchError);
    expect(slip).toThrow(
      /SELECTION_INVALID: --gpus 0,4: there is no GPU "4"\n {2}fix: choose among 0 \(GPU-000a-b\)/,
    );
    expect(() => narrowGpus([], "0")).toThrow(/this host has no GPU/);
  });
});

describe("a variable of the environment", () => {
  const narrowed = (found: readonly GpuFacts[], value: string) => {
    const io = { env: { CUDA_VISIBLE_DEVICES: value }, exists: () => false, readText: () => null };
    return applyVisibility(io as unknown as HostIo, found, undefined);
  };

  it("is no problem on a machine without GPUs", () => {
    for (const value of ["0", "0,1", "-1", "GPU-1"])
      expect(narrowed([], value)).toEqual({ gpus: [], problems: [], source: null });
  });

  it.each(["-1", "", "none", "NoDevFiles"])("is told where it hides all GPUs: %j", (value) => {
    const source = `CUDA_VISIBLE_DEVICES=${value}`;
    const told = { code: "HOST_GPUS_HIDDEN", message: `${source} hides all 4 GPUs of this host` };
    expect(narrowed(gpus, value)).toMatchObject({ gpus: [], problems: [told], source });
  });

  it("is told once where it names a GPU that is not there", () => {
    expect(narrowed(gpus, "9").problems).toMatchObject([{ code: "HOST_VISIBLE_DEVICES_UNCLEAR" }]);
  });
});
