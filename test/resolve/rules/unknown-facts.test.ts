import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
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
