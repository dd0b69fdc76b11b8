import { expect, it } from "vitest";
import { parseRequirement } from "../../src/lock/parse-requirement.ts";
import { leftOutLines } from "../../src/resolve/answer-lines.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import type { Requirement } from "../../src/lock/requirement.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import type { ReasonCode } from "../../src/resolve/verdict.ts";
import { a100, amdHost, cpuHost, gpuHost, h100, mi300x } from "./support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "./support/locks.ts";

const healthy = gpuHost([a100], "570.124.06", "12.8", { runtime: { nvidia: "legacy" } });
const gpu = gpuImage(cuda("12.8.1", ["sm_80"]));

const undriven = amdHost([], null, {
  amd: { driver: null, gpus: [mi300x] },
  problems: [{ code: "HOST_AMD_NO_DRIVER", message: "1 AMD GPU (0000:83:00.0) and no amdgpu module" }],
});

const ways: Readonly<Record<ReasonCode, () => ReturnType<typeof checkFit>>> = {
  ARCH_MISMATCH: () => checkFit(image({ platform: "linux/arm64" }), healthy),
  CPU_FEATURES_MISSING: () =>
    checkFit(image({ requires: { cpu: { march: "x", features: ["amx_tile"] }, cuda: null } }), healthy),
  NO_NVIDIA_DRIVER: () => checkFit(gpu, gpuHost([a100], null)),
  NO_GPU: () => checkFit(gpu, cpuHost()),
  NO_AMD_DRIVER: () => checkFit(rocmImage(["gfx942"]), undriven),
  NO_AMD_GPU: () => checkFit(rocmImage(["gfx942"]), cpuHost({ amd: null })),
  DRIVER_TOO_OLD: () => checkFit(gpu, gpuHost([a100], "470.57.02", "11.4")),
  DRIVER_NOT_EXACT: () =>
    checkFit(
      gpuImage(cuda("12.8.1", ["sm_80"], { driver: { mode: "bundled", version: "570.86.15" } })),
      healthy,
    ),
  NO_GPU_CODE: () => checkFit(gpu, gpuHost([h100], "570.124.06", "12.8")),
  PTX_TOO_NEW: () => checkFit(gpuImage(cuda("12.9.1", ["compute_80"])), healthy),
  COMPAT_NOT_SUPPORTED: () =>
    checkFit(
      gpuImage(
        cuda("13.0.2", ["sm_80"], {
          driver: { mode: "compat", package: "580.95.05", cuda: "13.0", branches: ["535"] },
        }),
      ),
      healthy,
    ),
  NVIDIA_REQUIRE_UNSATISFIED: () =>
    checkFit(gpuImage(cuda("12.8.1", ["sm_80"], { require: "cuda>=12.9" })), healthy),
  KERNEL_TOO_OLD: () => checkFit(image({ requires: { ...image().requires, kernel: "7.0" } }), healthy),
  PIN_MISMATCH: () => checkFit(image(), healthy, { pins: plainPins({ march: "broadwell" }) }),
  DEPRECATED: () => checkFit(image({ deprecated: "2026-01-31" }), healthy, { notDeprecatedOn: "2026-01-31" }),
  NOT_BUILT: () => checkFit(image({ digest: null }), healthy),
  NOT_PUSHED: () =>
    checkFit(image({ digest: null, local: { engine: "docker", id: `sha256:${"1".repeat(64)}` } }), healthy),
  REQUIREMENT_UNKNOWN: () =>
    checkFit(image({ requires: { ...image().requires, xpu: { release: "7.2" } } as Requirement }), healthy),
  HOST_BROKEN: () =>
    checkFit(gpu, { ...healthy, problems: [{ code: "HOST_GPU_LOST", message: "GPU 0 fell off the bus" }] }),
  FACT_UNKNOWN: () => checkFit(gpu, cpuHost({ nvidia: undefined })),
};

it("a requirement that this imgmatch does not know is never met, wherever it stands, and null asks for nothing", () => {
  const { requires } = gpu;
  const { cuda: needs, cpu } = requires;
  if (needs === null) throw new Error("it has GPU code");
  const with_ = (change: object) => checkFit({ ...gpu, requires: { ...requires, ...change } }, healthy);
  expect(with_({ xpu: null, rocm: null, accelerator: null }).ok).toBe(true);
  const text = JSON.stringify({ ...requires, rocm: null, accelerator: null });
  expect(parseRequirement(text)).toMatchObject({ ok: true });
  const unknown = [
    [{ kernal: "5.10" }, '"kernal" (did you mean kernel?)'],
    [{ cpu: { ...cpu, vectorBits: 512 } }, '"cpu.vectorBits"'],
    [{ cuda: { ...needs, memoryMiB: 80_000 } }, '"cuda.memoryMiB"'],
    [{ cuda: { ...needs, or: [{ ...needs, memoryMiB: 80_000 }] } }, '"cuda.or.memoryMiB"'],
    [{ cpu: { ...cpu, or: [{ ...cpu, vectorBits: 512 }] } }, '"cpu.or.vectorBits"'],
    [
      { cuda: { ...needs, driver: { ...needs.driver, minimun: "580" } } },
      '"cuda.driver.minimun" (did you mean minimum?)',
    ],
  ] as const;
  for (const [change, named] of unknown)
    expect(with_(change)).toMatchObject({
      code: "REQUIREMENT_UNKNOWN",
      message: expect.stringContaining(`this imgmatch does not know ${named} of its requirement`),
    });
});

it("names what is left out for it once, and nothing that a pin leaves out", () => {
  const strange = image({ requires: { ...image().requires, xpu: {} } as Requirement });
  const lock = lockOf({ a: strange, b: image(), c: strange });
  expect(leftOutLines(lock)).toEqual([
    expect.stringMatching(/^left out: a: REQUIREMENT_UNKNOWN: .*"xpu".*; 1 more for the like$/),
    expect.stringContaining("update imgmatch"),
  ]);
  expect(leftOutLines(lock, plainPins({ cuda: "12.8" }))).toEqual([]);
  expect(resolveImage(lock, healthy)).toMatchObject({
    match: { cell: "b" },
    rejected: [{ cell: "a", code: "REQUIREMENT_UNKNOWN" }, { cell: "c" }],
  });
});

it.each(Object.keys(ways) as ReasonCode[])("%s is reachable, with a message and a fix", (code) => {
  const found = ways[code]();
  expect(found).toEqual({
    ...("distance" in found ? { distance: expect.any(Number) } : {}),
    ...("short" in found ? { short: expect.stringMatching(/^no code for /) } : {}),
    ok: false,
    cures: expect.any(Array),
    code,
    message: expect.stringMatching(/\S/),
    fix: expect.stringMatching(/\S/),
  });
});
