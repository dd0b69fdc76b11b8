import { describe, expect, it } from "vitest";
import type { HostProblem } from "../../../src/facts/facts.ts";
import { checkFit } from "../../../src/resolve/check-fit.ts";
import { compilePins } from "../../../src/resolve/pins.ts";
import { a100, gpuHost } from "../support/hosts.ts";
import { cuda, gpuImage, image } from "../support/locks.ts";

const gpuCell = gpuImage(cuda("12.8.1", ["sm_80"]));
const brokenBy = (problem: HostProblem) => gpuHost([a100], "580.95.05", "13.0", { problems: [problem] });
const mismatch: HostProblem = {
  code: "HOST_DRIVER_LIBRARY_MISMATCH",
  message: "kernel module 580.95.05, library 580.178.01",
  fix: "reboot this host",
};

describe("broken hosts", () => {
  it.each([
    "HOST_DRIVER_LIBRARY_MISMATCH",
    "HOST_GPU_LOST",
    "HOST_NVML_FAILED",
    "HOST_NO_DEVICES",
    "HOST_SMI_TIMEOUT",
    "HOST_SMI_FAILED",
  ] as const)("%s: no image", (code) => {
    const host = brokenBy({ code, message: "…" });
    expect(checkFit(gpuCell, host)).toMatchObject({
      code: "HOST_BROKEN",
      fix: expect.stringMatching(/./),
    });
    expect(checkFit(image(), host)).toMatchObject({ code: "HOST_BROKEN" });
  });

  it("passes the host's own repair on, and says how to ask for a CPU image", () => {
    expect(checkFit(gpuCell, brokenBy(mismatch))).toMatchObject({
      message: "HOST_DRIVER_LIBRARY_MISMATCH: kernel module 580.95.05, library 580.178.01",
      fix: "reboot this host",
    });
    expect(checkFit(image(), brokenBy(mismatch))).toMatchObject({
      fix: "reboot this host; to run without the GPUs, ask for a CPU image (--cpu)",
    });
  });

  it("gives a CPU image to who asks for one, in either way", async () => {
    expect(checkFit(image(), brokenBy(mismatch), { cpuOnly: true }).ok).toBe(true);
    expect(checkFit(image(), brokenBy(mismatch), { pins: await compilePins({ cuda: "none" }) }).ok).toBe(
      true,
    );
    expect(
      checkFit(image(), brokenBy(mismatch), { pins: await compilePins({ march: "x86-64-v3" }) }),
    ).toMatchObject({
      code: "HOST_BROKEN",
    });
  });

  it.each(["HOST_NO_DRIVER", "HOST_NOUVEAU", "HOST_CONTAINER_WITHOUT_DEVICES", "HOST_SMI_GARBAGE"] as const)(
    "%s is a host without usable GPUs, not a broken one",
    (code) => {
      expect(checkFit(image(), brokenBy({ code, message: "…" })).ok).toBe(true);
    },
  );

  it("refuses GPU images under --cpu on a healthy host", () => {
    expect(checkFit(gpuCell, gpuHost([a100], "580.95.05", "13.0"), { cpuOnly: true })).toMatchObject({
      code: "PIN_MISMATCH",
    });
  });
});
