import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { unknownGpu } from "../../../src/facts/no-facts.ts";
import { interpretNvml } from "../../../src/host/nvidia/nvml.ts";
import { readNvmlWithKoffi } from "../../../src/host/nvidia/nvml-koffi.ts";
import { nvmlCodes } from "../../../src/host/nvidia/nvml-reading.ts";
import { needs } from "../../support/needs.ts";
import { whyNoCompiler } from "../../support/programs.ts";

const source = fileURLToPath(new URL("./support/fake-nvml.c", import.meta.url));
const whyNoCc =
  process.platform === "linux" ? whyNoCompiler("cc", "apt-get install gcc libc6-dev") : "not Linux";
const hasKoffi = await import("koffi").then(
  () => true,
  () => false,
);

const whyNot = whyNoCc ?? (hasKoffi ? null : "no koffi (npm install, with optional dependencies)");

describe("NVML through koffi", needs(whyNot), () => {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-nvml-"));
  const library = (name: string) => join(folder, name);
  const compile = (name: string, ...flags: string[]) => {
    const built = spawnSync("cc", ["-shared", "-fPIC", ...flags, "-o", library(name), source], {
      encoding: "utf8",
    });
    expect(built.stderr).toBe("");
  };

  beforeAll(() => {
    compile("libnvidia-ml.so.1");
    compile("libnvidia-ml-mismatch.so.1", "-DINIT_FAILS=18");
    compile("libnvidia-ml-empty.so.1", "-DMIG_DENIED=6", "-DFABRIC_STATUS=999", "-DCC_OFF", "-DLICENSED");
    compile("libnvidia-ml-denied.so.1", "-DMIG_DENIED=4");
    compile("libnvidia-ml-33.so.1", "-DCOUNT=33");
    for (const status of [5, 6]) compile(`libnvidia-ml-p2p${status}.so.1`, `-DP2P_STATUS=${status}`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("reads driver and GPUs with the structs of nvml.h", async () => {
    const reading = await readNvmlWithKoffi([library("absent.so"), library("libnvidia-ml.so.1")]);
    expect(reading).toMatchObject({
      library: library("libnvidia-ml.so.1"),
      init: 0,
      deviceCount: { value: 3 },
    });
    if (reading === null) return;
    const { gpus, ...driver } = interpretNvml(reading);
    expect(driver).toEqual({
      source: "nvml",
      driver: "570.172.08",
      library: "570.172.08",
      cuda: "12.8",
      ready: false,
      problems: [expect.objectContaining({ code: "HOST_GPU_LOST", message: "GPU 1 has fallen off the bus" })],
    });
    expect(gpus).toEqual([
      {
        ...unknownGpu(0),
        uuid: "GPU-00000000-1111-4222-8333-444444444444",
        name: "NVIDIA H100 80GB HBM3",
        compute: "9.0",
        pci: "10de:2330",
        bus: "00000000:17:00.0",
        memoryMiB: 81559,
        mig: [
          { uuid: "MIG-0000000a-1111-4222-8333-444444444444", profile: "3g.40gb" },
          { uuid: "MIG-0000000c-1111-4222-8333-444444444444", profile: "1g.10gb" },
        ],
        fabric: "completed",
        computeMode: "exclusive",
        recovery: "drain-and-reset",
        remapFailed: false,
        use: { processes: 5, memoryMiB: 59 },
      },
      {
        ...unknownGpu(2),
        uuid: "GPU-00000002-1111-4222-8333-444444444444",
        name: "NVIDIA A100-SXM4-80GB",
        compute: "8.0",
        pci: "10de:20b2",
        bus: "00000000:CA:00.0",
        memoryMiB: 81920,
        mig: null,
        fabric: "none",
        computeMode: "prohibited",
        remapFailed: true,
        licensed: false,
        use: { processes: 0, memoryMiB: 920 },
      },
    ]);
  });

  it("tells MIG mode without an instance from instances that it may not see", async () => {
    const first = async (name: string) => {
      const reading = await readNvmlWithKoffi([library(name)]);
      return reading === null ? null : interpretNvml(reading).gpus?.[0];
    };
    expect(await first("libnvidia-ml-empty.so.1")).toMatchObject({ mig: [], fabric: "failed" });
    expect(await first("libnvidia-ml-denied.so.1")).not.toHaveProperty("mig");
  });

  it("tells a vGPU with its licence from one without", async () => {
    const gpus = (await readNvmlWithKoffi([library("libnvidia-ml-empty.so.1")]))?.devices ?? [];
    expect(gpus.map(({ licensed }) => licensed)).toEqual([undefined, undefined, { value: true }]);
  });

  it("tells the GPUs that NVLink joins, where pairs are asked for", async () => {
    const links = async (name: string, pairs?: boolean) => {
      const reading = await readNvmlWithKoffi([library(name)], pairs);
      return reading === null ? null : interpretNvml(reading).gpus?.map((gpu) => gpu.links);
    };
    // GPU 1 is lost: it is no end of a link.
    expect(await links("libnvidia-ml.so.1", true)).toEqual([[2], [0]]);
    expect(await links("libnvidia-ml-p2p5.so.1", true)).toEqual([[], []]);
    expect(await links("libnvidia-ml-p2p6.so.1", true)).toEqual([undefined, undefined]);
    expect(await links("libnvidia-ml.so.1")).toEqual([undefined, undefined]);
    // More GPUs than any machine has links between: a thousand pairs are not asked.
    expect(await links("libnvidia-ml-33.so.1", true)).toEqual([undefined, undefined]);
  });

  it("has no word of readiness where confidential computing is off", async () => {
    expect(await readNvmlWithKoffi([library("libnvidia-ml-empty.so.1")])).not.toHaveProperty("ready");
  });

  it("gives the code of a library that cannot be initialized", async () => {
    expect(await readNvmlWithKoffi([library("libnvidia-ml-mismatch.so.1")])).toMatchObject({
      init: 18,
      devices: [],
    });
  });

  it("is null without a library, and treats a library without NVML's functions as one without an answer", async () => {
    expect(await readNvmlWithKoffi([library("absent.so")])).toBeNull();
    expect(await readNvmlWithKoffi(["libm.so.6"])).toMatchObject({ init: nvmlCodes.absent });
  });
});
