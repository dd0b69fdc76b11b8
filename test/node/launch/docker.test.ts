import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/host/facts.ts";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import type { LaunchRequest } from "../../../src/node/launch/target.ts";
import type { Requirement } from "../../../src/lock/lock.ts";
import { a100, cpuHost, gpu, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, requirement } from "../../resolve/support/locks.ts";
import { reference } from "./support/requests.ts";

const forGpu = requirement(cuda("12.8.1", ["sm_80"]));
const argv = (requires: Requirement, host: HostFacts, change: Partial<LaunchRequest> = {}) =>
  launchTargets.docker.command({ reference, requires, host, args: [], ...change }).argv;
const under = (nvidia: HostFacts["runtime"]["nvidia"]) =>
  gpuHost([a100, { ...h100, uuid: "GPU-1111" }], "570.124.06", "12.8", { runtime: { nvidia } });

describe("docker", () => {
  it("runs a CPU image without devices, with the program's arguments last", () => {
    expect(argv(requirement(null), under("cdi"), { args: ["--steps", "10"] })).toEqual([
      "docker",
      "run",
      "--rm",
      "--",
      reference,
      "--steps",
      "10",
    ]);
  });

  it("takes terminal and options from the caller", () => {
    expect(
      argv(requirement(null), cpuHost(), { interactive: true, tty: true, options: ["-v", "/data:/data"] }),
    ).toEqual(["docker", "run", "--rm", "--interactive", "--tty", "-v", "/data:/data", "--", reference]);
  });

  it("names every visible GPU to CDI", () => {
    expect(argv(forGpu, under("cdi"))).toEqual([
      "docker",
      "run",
      "--rm",
      "--device",
      "nvidia.com/gpu=0",
      "--device",
      "nvidia.com/gpu=1",
      "--",
      reference,
    ]);
  });

  it.each(["legacy", null] as const)("uses --gpus for %s, quoted as Docker's CSV wants it", (runtime) => {
    expect(argv(forGpu, under(runtime))).toEqual([
      "docker",
      "run",
      "--rm",
      "--gpus",
      '"device=0,GPU-1111"',
      "--",
      reference,
    ]);
  });

  it("names MIG instances, as a GPU in MIG mode is not used itself", () => {
    const sliced = gpu({
      compute: "9.0",
      uuid: "GPU-1",
      mig: [
        { uuid: "MIG-1", profile: "3g.40gb" },
        { uuid: "MIG-2", profile: "3g.40gb" },
      ],
    });
    const host = (nvidia: "cdi" | "legacy") =>
      gpuHost([sliced], "570.124.06", "12.8", { runtime: { nvidia } });
    expect(argv(forGpu, host("cdi"))).toContain("nvidia.com/gpu=0:1");
    expect(argv(forGpu, host("legacy"))).toContain('"device=MIG-1,MIG-2"');
  });

  it("gives an image with a bundled driver the devices alone", () => {
    const bundled = requirement(
      cuda("9.2.148", ["sm_70"], { driver: { mode: "bundled", version: "396.44" } }),
    );
    expect(argv(bundled, under("none"))).toEqual([
      "docker",
      "run",
      "--rm",
      "--device",
      "/dev/nvidia0",
      "--device",
      "/dev/nvidia1",
      "--device",
      "/dev/nvidiactl",
      "--device",
      "/dev/nvidia-uvm",
      "--",
      reference,
    ]);
  });

  it("refuses where no runtime brings the driver, and says what to install", () => {
    expect(() => argv(forGpu, under("none"))).toThrow(
      expect.objectContaining({ code: "LAUNCH_FAILED", exitCode: 5 }),
    );
    expect(() => argv(forGpu, under("none"))).toThrow(/NVIDIA Container Toolkit/);
    expect(() => argv(forGpu, cpuHost())).toThrow(/none visible/);
  });
});
