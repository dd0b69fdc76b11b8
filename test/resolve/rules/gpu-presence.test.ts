import { describe, expect, it } from "vitest";
import type { HostProblem } from "../../../src/facts/facts.ts";
import { causeOf, noneVisible } from "../../../src/resolve/rules/gpu-presence.ts";
import { hideGpus } from "../../../src/resolve/rules/shared-cures.ts";

const none = { code: "HOST_AMD_NO_DRIVER", message: "no amdgpu", fix: "load it" } as const;
const hidden = { code: "HOST_GPUS_HIDDEN", message: "CUDA_VISIBLE_DEVICES hides all" } as const;
const garbage = { code: "HOST_SMI_GARBAGE", message: "…" } as const;

describe("the cause of a GPU that cannot be used", () => {
  it.each<[string, "nvidia" | "amd", readonly HostProblem[], HostProblem | undefined]>([
    ["is one of its own vendor", "nvidia", [none, hidden], hidden],
    ["is one of its own vendor, of AMD too", "amd", [hidden, none], none],
    ["is none of another", "nvidia", [none], undefined],
    ["is nothing that leaves GPUs usable", "nvidia", [garbage], undefined],
  ])("%s", (_, vendor, problems, cause) => {
    expect(causeOf(vendor, problems)).toBe(cause);
  });

  it("brings its own cure, or leaves that of the rule", () => {
    const [told, untold] = [noneVisible("amd", "amdgpu", [none]), noneVisible("nvidia", "580", [hidden])];
    expect([told.message, told.fix]).toEqual([
      "needs an AMD GPU, this host has amdgpu and no visible GPU: no amdgpu",
      "load it",
    ]);
    expect([untold.message, untold.fix]).toEqual([
      "needs an NVIDIA GPU, this host has 580 and no visible GPU: CUDA_VISIBLE_DEVICES hides all",
      "make a GPU visible (NVIDIA_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, --gpus), or add a cell with cuda=none",
    ]);
  });
});

it("hides the GPUs without code where others have some", () => {
  expect(hideGpus([1], [1, 2]).map(({ text }) => text)).toEqual(["hide this GPU"]);
  expect(hideGpus([1, 2], [1, 2, 3]).map(({ text }) => text)).toEqual(["hide these GPUs"]);
  expect(hideGpus([1, 2], [1, 2])).toEqual([]);
});
