import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { launchTargets } from "../../../../src/node/launch/launch-targets.ts";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import type { Requirement } from "../../../../src/lock/requirement.ts";
import { accessTo } from "../../../../src/node/launch/gpu-needs.ts";
import { unitsOf } from "../../../../src/node/launch/gpu-units.ts";
import { a100, amdHost, cpuHost, gpu, gpuHost, h100, mi300x } from "../../../resolve/support/hosts.ts";
import { cuda, requirement, rocm } from "../../../resolve/support/locks.ts";
import { reference } from "../support/requests.ts";

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

describe("AMD GPUs", () => {
  const forAmd = { ...requirement(null), rocm: rocm("7.2", ["gfx942"]) };
  const words = (engine: "docker" | "podman", host: HostFacts, change: Partial<LaunchRequest> = {}) =>
    launchTargets[engine]
      .command({ reference, requires: forAmd, host, args: [], ...change })
      .argv.slice(3, -2)
      .join(" ");
  const two = amdHost([mi300x, mi300x]);
  const devices = "--device /dev/kfd --device /dev/dri/renderD128 --device /dev/dri/renderD129";
  const access = { groups: [44, 109], user: 1000 };

  it("are handed over as devices, with the groups that may open them by number", () => {
    expect(words("docker", two, { access })).toBe(`${devices} --group-add 44 --group-add 109`);
    expect(words("podman", two, { access: { ...access, user: 0 } })).toBe(
      `${devices} --group-add 44 --group-add 109`,
    );
    expect(words("docker", two, { access: { groups: [], user: 1000 } })).toBe(devices);
  });

  it("are opened by the user's own groups where Podman runs without root", () => {
    expect(words("podman", two, { access })).toBe(`${devices} --group-add keep-groups`);
  });

  it("have names in CDI, unless it counts them in another order", () => {
    const cdi = amdHost([mi300x, mi300x], "6.14.14", { runtime: { nvidia: "none", amd: "cdi" } });
    const names = "--device amd.com/gpu=0 --device amd.com/gpu=1";
    expect(words("docker", cdi)).toBe(names);
    expect(words("docker", cdi, { access })).toBe(`${names} --group-add 44 --group-add 109`);
    const turned = cdi.amd?.gpus.map((each, index) => ({ ...each, bus: `0000:0${9 - index}:00.0` })) ?? [];
    const other = { ...cdi, amd: { driver: null, gpus: turned } };
    expect(words("docker", other, { access })).toContain("--device /dev/kfd");
  });

  it("of another machine are refused, unless it has names for them", () => {
    expect(() => words("docker", two)).toThrow(/LAUNCH_FAILED.*groups.*amd-ctk cdi generate/s);
    const gpus = two.amd?.gpus.map((each) => ({ ...each, render: null })) ?? [];
    expect(() => words("docker", { ...two, amd: { driver: null, gpus } }, { access })).toThrow(
      /LAUNCH_FAILED.*GPU 0 does not tell its device file/s,
    );
  });

  it("are never those of the other vendor", () => {
    const both = { ...two, nvidia: gpuHost([a100], "570.124.06", "12.8").nvidia };
    expect(words("docker", both, { access })).toBe(`${devices} --group-add 44 --group-add 109`);
    expect(argv(forGpu, { ...both, runtime: { nvidia: "cdi" } })).toContain("nvidia.com/gpu=0");
    expect(() => words("docker", under("cdi"))).toThrow(/needs an AMD GPU/);
    expect(() => argv(forGpu, two)).toThrow(/none visible/);
  });

  it("leave that of a processor out beside a card", () => {
    const desktop = amdHost([mi300x, { ...mi300x, integrated: true }]);
    expect(words("docker", desktop, { access: { groups: [], user: 0 } })).toBe(
      "--device /dev/kfd --device /dev/dri/renderD128",
    );
  });

  it("have groups of those who own the devices, where not everybody may open them", () => {
    const owners: Record<string, { gid: number; mode: number }> = {
      "/dev/kfd": { gid: 109, mode: 0o20660 },
      "/dev/dri/renderD128": { gid: 44, mode: 0o20660 },
      "/dev/dri/renderD129": { gid: 7, mode: 0o20666 },
    };
    const asked = accessTo(unitsOf(two), (device) => owners[device] ?? null, 1000);
    expect(asked).toEqual({ access: { groups: [44, 109], user: 1000 } });
    expect(accessTo(unitsOf(under("cdi")))).toEqual({});
  });
});
