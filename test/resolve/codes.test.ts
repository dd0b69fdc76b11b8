import { expect, it } from "vitest";
import { judgeImage } from "../../src/resolve/judge.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import { type ReasonCode, reasonCodes } from "../../src/resolve/verdict.ts";
import { a100, cpuHost, gpuHost, h100 } from "./support/hosts.ts";
import { cuda, gpuImage, image } from "./support/locks.ts";

const healthy = gpuHost([a100], "570.124.06", "12.8", { runtime: { nvidia: "legacy" } });
const gpu = gpuImage(cuda("12.8.1", ["sm_80"]));

const ways: Readonly<Record<ReasonCode, () => ReturnType<typeof judgeImage>>> = {
  ARCH_MISMATCH: () => judgeImage(image({ platform: "linux/arm64" }), healthy),
  CPU_FEATURES_MISSING: () =>
    judgeImage(image({ requires: { cpu: { march: "x", features: ["amx_tile"] }, cuda: null } }), healthy),
  NO_NVIDIA_DRIVER: () => judgeImage(gpu, gpuHost([a100], null)),
  NO_GPU: () => judgeImage(gpu, cpuHost()),
  DRIVER_TOO_OLD: () => judgeImage(gpu, gpuHost([a100], "470.57.02", "11.4")),
  DRIVER_NOT_EXACT: () =>
    judgeImage(
      gpuImage(cuda("12.8.1", ["sm_80"], { driver: { mode: "bundled", version: "570.86.15" } })),
      healthy,
    ),
  NO_GPU_CODE: () => judgeImage(gpu, gpuHost([h100], "570.124.06", "12.8")),
  PTX_TOO_NEW: () => judgeImage(gpuImage(cuda("12.9.1", ["compute_80"])), healthy),
  COMPAT_NOT_SUPPORTED: () =>
    judgeImage(
      gpuImage(
        cuda("13.0.2", ["sm_80"], {
          driver: { mode: "compat", package: "580.95.05", cuda: "13.0", branches: ["535"] },
        }),
      ),
      healthy,
    ),
  NVIDIA_REQUIRE_UNSATISFIED: () =>
    judgeImage(gpuImage(cuda("12.8.1", ["sm_80"], { require: "cuda>=12.9" })), healthy),
  KERNEL_TOO_OLD: () => judgeImage(image({ requires: { ...image().requires, kernel: "7.0" } }), healthy),
  PIN_MISMATCH: () => judgeImage(image(), healthy, { pins: plainPins({ march: "broadwell" }) }),
  NOT_BUILT: () => judgeImage(image({ digest: null }), healthy),
  HOST_BROKEN: () =>
    judgeImage(gpu, { ...healthy, problems: [{ code: "HOST_GPU_LOST", message: "GPU 0 fell off the bus" }] }),
};

it.each(reasonCodes)("%s is reachable, with a message and a fix", (code) => {
  const found = ways[code]();
  expect(found).toEqual({
    ...("by" in found ? { by: expect.any(Number) } : {}),
    ok: false,
    cures: expect.any(Array),
    code,
    message: expect.stringMatching(/\S/),
    fix: expect.stringMatching(/\S/),
  });
});
