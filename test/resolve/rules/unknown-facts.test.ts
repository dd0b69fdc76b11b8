import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import type { GpuSide } from "../../../src/resolve/rules/gpu-side.ts";
import { checkFactsKnown } from "../../../src/resolve/rules/unknown-facts.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { cpuHost, gpuHost, h100 } from "../support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../support/locks.ts";

const both = lockOf({ cpu: image(), gpu: gpuImage(cuda("12.8.1", ["sm_90"])) });
const cpuOnly = lockOf({ cpu: image() });
const healthy = gpuHost([h100], "570.124.06", "12.8");
const nameless = { ...h100, index: 1, compute: null };
const without = (...unknown: ("driver" | "gpus")[]): HostFacts =>
  gpuHost([], null, null, { nvidiaChange: { unknown } });

describe("facts that nobody has told", () => {
  it.each([
    ["nvidia", cpuHost({ nvidia: undefined })],
    ["nvidia.driver", without("driver", "gpus")],
    ["nvidia.gpus", without("gpus")],
    ["nvidia.gpus[1].compute", gpuHost([h100, nameless], "570.124.06", "12.8")],
  ])("%s: no image of a fleet that has some with GPU code, and the fact is named", (fact, host) => {
    const { match, rejected } = resolveImage(both, host);
    expect(match).toBeNull();
    expect(rejected).toMatchObject([
      { cell: "cpu", code: "FACT_UNKNOWN", message: expect.stringContaining(fact) },
      { cell: "gpu", code: "FACT_UNKNOWN", message: expect.stringContaining(fact) },
    ]);
  });

  it("are not asked for where the answer does not depend on them", () => {
    const noCompute = gpuHost([nameless], "570.124.06", "12.8");
    expect(resolveImage(cpuOnly, noCompute).match?.cell).toBe("cpu");
    expect(resolveImage(both, noCompute, { cpuOnly: true }).match?.cell).toBe("cpu");
    const host = cpuHost({ nvidia: undefined });
    expect(resolveImage(cpuOnly, host).match?.cell).toBe("cpu");
    expect(resolveImage(both, host, { cpuOnly: true }).match?.cell).toBe("cpu");
    expect(resolveImage(both, host, { pins: { cuda: "none" } }).match?.cell).toBe("cpu");
    const unbuilt = lockOf({ cpu: image(), gpu: gpuImage(cuda("12.8.1", ["sm_90"]), { digest: null }) });
    expect(resolveImage(unbuilt, host).match?.cell).toBe("cpu");
  });

  it("are no obstacle where they are told", () => {
    expect(resolveImage(both, healthy).match?.cell).toBe("gpu");
    expect(resolveImage(both, cpuHost()).match?.cell).toBe("cpu");
    // No driver, no GPU code: what the GPU is changes nothing.
    expect(resolveImage(both, gpuHost([nameless], null, null)).match?.cell).toBe("cpu");
  });
});

describe("the cure of a fact that nobody has told", () => {
  const asked = (side: GpuSide, vendor: "nvidia" | "amd", fact: string, labelled = false) => {
    const found = checkFactsKnown(
      side,
      {
        unknownGpuFacts: { nvidia: [], amd: [], [vendor]: [fact] },
        otherProblems: labelled ? [{ code: "HOST_LABELS_INCOMPLETE", message: "…" }] : [],
      },
      { gpuImages: ["nvidia", "amd"] },
    );
    return [found?.message, ...(found?.cures ?? []).map(({ text }) => text)];
  };
  const probe = "run imgmatch probe --json on the host and pass its output";

  it("names the command, the option or the fact", () => {
    expect(asked("nvidia", "nvidia", "nvidia")).toEqual([
      "needs to know whether this host has an NVIDIA GPU: its facts do not have nvidia",
      probe,
      "say --no-gpu where it has none",
    ]);
    expect(asked("cpu", "nvidia", "nvidia.driver")).toEqual([
      "an image with GPU code may be better, and these facts do not tell nvidia.driver of this host: its facts do not have nvidia.driver",
      probe,
      "name it: --driver nvidia=VERSION",
      "ask for a CPU image (--cpu)",
    ]);
    expect(asked("amd", "nvidia", "nvidia.gpus")).toEqual([
      "an image with GPU code may be better, and these facts do not tell nvidia.gpus of this host: its facts do not have nvidia.gpus",
      probe,
      "add nvidia.gpus to the facts (imgmatch probe --json writes facts, --host reads them)",
    ]);
    expect(asked("nvidia", "nvidia", "nvidia.gpus[1].compute")).toEqual([
      "needs to know nvidia.gpus[1].compute of this host: its facts do not have nvidia.gpus[1].compute",
      "update the NVIDIA driver, which may tell it",
      "hide that GPU",
      "add nvidia.gpus[1].compute to the facts (imgmatch probe --json writes facts, --host reads them)",
    ]);
    expect(asked("amd", "amd", "amd.gpus[0].target")[1]).toBe("update the kernel, which may tell it");
  });

  it("is a label where labels tell the facts", () => {
    expect(asked("nvidia", "nvidia", "nvidia", true).slice(0, 3)).toEqual([
      "needs to know whether this host has an NVIDIA GPU: no label of this node tells it",
      "run Node Feature Discovery on the node",
      probe,
    ]);
    expect(asked("nvidia", "nvidia", "nvidia.driver", true)[1]).toBe("run GPU Feature Discovery on the node");
    expect(asked("amd", "amd", "amd", true)[1]).toBe(probe);
  });

  it("is asked of no vendor that the answer does not depend on", () => {
    expect(asked("nvidia", "amd", "amd")).toEqual([undefined]);
    expect(asked("unjudged", "nvidia", "nvidia")).toEqual([undefined]);
  });
});
