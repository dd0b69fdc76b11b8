/** The table of states in docs/compatibility.md: each row is a case here, which changes what the row's cure names, and then an image fits. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hipStart } from "../../src/host/amd/hip-start.ts";
import type { HostFacts, HostProblem } from "../../src/facts/facts.ts";
import type { HostIo } from "../../src/host/host-io.ts";
import { cudaStart } from "../../src/host/nvidia/cuda-start.ts";
import type { NvmlDevice, NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import type { StartTable } from "../../src/host/start-table.ts";
import { problemCodes } from "../../src/problem-codes.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { a100, amdHost, gpuHost, mi300x } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import * as amd from "./amd/support/amd-host.ts";

const root = join(import.meta.dirname, "../..");
const machine = (name: string) => fixtureHostIo(join(root, "test/fixtures/hosts", name));

interface Change {
  /** null for an absent file. */
  readonly files?: Readonly<Record<string, string | null>>;
  readonly links?: Readonly<Record<string, string | null>>;
  /** Names that a folder has besides its own. */
  readonly names?: Readonly<Record<string, readonly string[]>>;
  readonly nodes?: Readonly<Record<string, boolean>>;
  readonly open?: Readonly<Record<string, boolean>>;
  /** null where no library answers. */
  readonly devices?: ((devices: readonly NvmlDevice[]) => readonly NvmlDevice[]) | null;
  readonly ready?: boolean;
  readonly cuda?: NvmlReading["cudaVersion"];
  readonly env?: Readonly<Record<string, string>>;
}

function changed(io: HostIo, change: Change): HostIo {
  const {
    files = {},
    links = {},
    names = {},
    nodes = {},
    open = {},
    devices,
    ready,
    cuda: version,
    env = {},
  } = change;
  return {
    ...io,
    env: { ...io.env, ...env },
    readText: (path, limit) => (path in files ? (files[path] ?? null) : io.readText(path, limit)),
    readLink: (path) => (path in links ? (links[path] ?? null) : io.readLink(path)),
    list: (path) => [...io.list(path), ...(names[path] ?? [])].sort(),
    exists: (path) => nodes[path] ?? io.exists(path),
    mayOpen: (path) => open[path] ?? nodes[path] ?? io.mayOpen(path),
    run: async (...asked) => (devices === null ? null : io.run(...asked)),
    readNvml: async (libraries) => {
      const found = devices === null ? null : await io.readNvml(libraries);
      if (found === null) return found;
      const listed = devices?.(found.devices) ?? found.devices;
      const told = {
        ...(ready !== undefined && { ready: { value: ready } }),
        ...(version !== undefined && { cudaVersion: version }),
      };
      return { ...found, ...told, deviceCount: { value: listed.length }, devices: listed };
    },
  };
}

const each = (change: Partial<NvmlDevice>) => (devices: readonly NvmlDevice[]) =>
  devices.map((device) => ({ ...device, ...change }));
const firstGpu = (change: Partial<NvmlDevice>) => (devices: readonly NvmlDevice[]) =>
  devices.map((device, index) => ({ ...device, ...(index === 0 && change) }));
const noModule = {
  files: { "/proc/driver/nvidia/version": null, "/sys/module/nvidia/version": null },
  nodes: { "/dev/nvidiactl": false },
  devices: null,
} as const;
const pci = "/sys/bus/pci/devices";
const driverLinks = (io: HostIo, driver: string | null) =>
  Object.fromEntries(
    io
      .list(pci)
      .filter((address) => io.readLink(`${pci}/${address}/driver`)?.endsWith("/nvidia"))
      .map((address) => [`${pci}/${address}/driver`, driver]),
  );

const h100 = machine("ubuntu2404-sapphirerapids-h100");
const rtx5090 = machine("arch-zen5-rtx5090");
const p100 = machine("centos7-broadwell-p100_r430_old_smi");
const utility = machine("docker-cascadelake-t4_utility");
const lxc = machine("lxc-cascadelake-t4_no_uvm");
const wsl = machine("wsl2-zen3-rtx3080");
const pascal = `${pci}/0000:99:00.0`;
const h100Version = h100.readText("/proc/driver/nvidia/version");
const openVersion = rtx5090.readText("/proc/driver/nvidia/version");

const ofToolkit = "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1";
const runtimeThere = { "/usr/bin/nvidia-container-runtime": true };
const specification = (driver: string) => ({
  names: { "/etc/cdi": ["gpus.yaml"] },
  files: {
    "/etc/cdi/gpus.yaml": `kind: nvidia.com/gpu\nmounts:\n- hostPath: /usr/lib/libcuda.so.${driver}\n`,
  },
});

type Of = Promise<HostFacts> | HostFacts;
interface Case {
  readonly code: HostProblem["code"];
  readonly broken: () => Of;
  readonly mended: () => Of;
}

const pair = (code: Case["code"], io: HostIo, broken: Change, mended: Change = {}): Case => ({
  code,
  broken: () => probeHost(changed(io, broken)),
  mended: () => probeHost(changed(io, mended)),
});
const asked = (code: Case["code"], { problem }: StartTable, facts: HostFacts): Case => ({
  code,
  broken: () => ({ ...facts, problems: [problem({ call: "init", code: 999 }, facts, h100) ?? []].flat() }),
  mended: () => ({ ...facts, problems: [problem({ devices: 1 }, facts, h100) ?? []].flat() }),
});

const card = {
  files: {
    "/proc/cpuinfo": String(h100.readText("/proc/cpuinfo")),
    "/sys/module/amdgpu/initstate": "live\n",
    ...amd.pci("0000:83:00.0", "1002:74a1", "0x120000"),
  },
  links: amd.heldBy("amdgpu", "0000:83:00.0"),
  devices: amd.devices(1),
};
const listed = {
  ...card,
  files: {
    ...card.files,
    ...amd.processor(0),
    ...amd.node(1, {
      ...{ gfx_target_version: 90402, device_id: 0x74a1, num_xcc: 8 },
      ...{ drm_render_minor: 128, location_id: 0x8300 },
    }),
  },
};
const ofAmd = (code: Case["code"], broken: amd.AmdMachine): Case => ({
  code,
  broken: () => probeHost(amd.amdHost(broken)),
  mended: () => probeHost(amd.amdHost(listed)),
});

const cases: Readonly<Record<string, Case>> = {
  "MIG mode is on without an instance": pair("HOST_MIG_EMPTY", h100, {
    devices: each({ mig: { value: [] } }),
  }),
  "the NVSwitch fabric is not up": pair(
    "HOST_FABRIC_NOT_READY",
    h100,
    { devices: each({ fabric: { value: { state: 2, status: 0 } } }) },
    { devices: each({ fabric: { value: { state: 3, status: 0 } } }) },
  ),
  "a container was given CUDA without `/dev/nvidia-uvm`": pair(
    "HOST_NO_UVM",
    lxc,
    {},
    { nodes: { "/dev/nvidia-uvm": true } },
  ),
  "libcuda is missing or empty": pair("HOST_NO_LIBCUDA", h100, { cuda: { code: 6 } }),
  "a device of NVIDIA may not be opened": pair(
    "HOST_NO_PERMISSION",
    h100,
    { nodes: { "/dev/nvidia-uvm": true }, open: { "/dev/nvidia-uvm": false } },
    { nodes: { "/dev/nvidia-uvm": true } },
  ),
  "a container has none of the machine's cards": pair("HOST_CONTAINER_WITHOUT_DEVICES", utility, {
    devices: () => [],
    nodes: { "/dev/nvidia0": false },
  }),
  "the compute mode of every GPU is Prohibited": pair(
    "HOST_GPU_NOT_READY",
    h100,
    { devices: each({ computeMode: { value: 2 } }) },
    { devices: each({ computeMode: { value: 0 } }) },
  ),
  "after a fault the driver asks for a recovery action": pair(
    "HOST_GPU_NOT_READY",
    h100,
    { devices: each({ recovery: { value: 1 } }) },
    { devices: each({ recovery: { value: 0 } }) },
  ),
  "a memory row could not be remapped": pair(
    "HOST_GPU_NOT_READY",
    h100,
    { devices: firstGpu({ remapFailed: { value: true } }) },
    { devices: firstGpu({ remapFailed: { value: true } }), env: { CUDA_VISIBLE_DEVICES: "1" } },
  ),
  "confidential computing is on, and the GPUs are not ready": pair(
    "HOST_GPU_NOT_READY",
    h100,
    { ready: false },
    { ready: true },
  ),
  "a vGPU has no licence": pair(
    "HOST_GPU_UNLICENSED",
    h100,
    { devices: each({ licensed: { value: false } }) },
    { devices: each({ licensed: { value: true } }) },
  ),
  "under WSL2 the container toolkit is older than the Windows driver": pair(
    "HOST_CONTAINERS_OUTDATED",
    wsl,
    { nodes: runtimeThere, links: { [ofToolkit]: "libnvidia-container.so.1.14.3" } },
    { nodes: runtimeThere, links: { [ofToolkit]: "libnvidia-container.so.1.14.4" } },
  ),
  "a CDI specification names another driver's libraries": pair(
    "HOST_CONTAINERS_OUTDATED",
    h100,
    specification("535.183.01"),
    specification(String(/\b5\d\d\.[\d.]+/.exec(String(h100Version)))),
  ),
  "the module does not drive a card that stays bound to it": pair("HOST_NO_DEVICES", rtx5090, {
    files: { "/proc/driver/nvidia/version": String(openVersion).replace("Open ", "") },
    devices: () => [],
  }),
  "the driver of a vGPU guest does not fit its host's": pair("HOST_NO_DEVICES", h100, {
    files: {
      "/proc/driver/nvidia/version": String(h100Version).replaceAll(/\b5\d\d\.[\d.]+/g, "535.183.01"),
    },
    devices: () => [],
  }),
  "no flavor drives both cards": pair("HOST_GPU_UNSUPPORTED_BY_DRIVER", rtx5090, {
    names: { [pci]: ["0000:99:00.0"] },
    files: {
      [`${pascal}/vendor`]: "0x10de",
      [`${pascal}/device`]: "0x1b06",
      [`${pascal}/class`]: "0x030000",
    },
  }),
  "the newest branches left the card behind": pair("HOST_NO_DRIVER", p100, {
    ...noModule,
    links: {
      ...driverLinks(p100, null),
      "/usr/lib64/libnvidia-ml.so.1": "libnvidia-ml.so.590.48.01",
    },
  }),
  "nouveau or NovaCore holds the card": pair("HOST_NOUVEAU", h100, {
    ...noModule,
    links: driverLinks(h100, "../../../bus/pci/drivers/nouveau"),
  }),
  "CUDA does not start": asked("HOST_CUDA_FAILED", cudaStart, gpuHost([a100], "570.124.06", "12.8")),
  "the compute driver lists no GPU of AMD": ofAmd("HOST_AMD_GPU_SKIPPED", card),
  "no render node of an AMD GPU may be opened": ofAmd("HOST_AMD_NO_PERMISSION", {
    ...listed,
    devices: [amd.kfd],
    denied: amd.render(128),
  }),
  "a card of AMD is being reset": asked("HOST_AMD_HIP_FAILED", hipStart, amdHost([mi300x])),
  "HIP does not start": asked("HOST_AMD_HIP_FAILED", hipStart, amdHost([mi300x])),
};

const code = ["sm_75", "sm_80", "sm_90", "sm_120"];
const rocm = lockOf({ gpu: rocmImage(["gfx942"]), cpu: image() });
const fleets = {
  HOST_AMD_HIP_FAILED: rocm,
  HOST_AMD_GPU_SKIPPED: rocm,
  HOST_AMD_NO_PERMISSION: rocm,
  // R430 serves no newer toolkit.
  HOST_NO_DRIVER: lockOf({
    gpu: gpuImage(cuda("10.1.243", ["sm_60"], { driver: { mode: "host", minimum: "418.39" } })),
    cpu: image(),
  }),
} as const;
const newest = lockOf({ gpu: gpuImage(cuda("12.8.1", code)), cpu: image() });
const winner = (facts: HostFacts, { code: of }: Case) =>
  resolveImage(Object.hasOwn(fleets, of) ? fleets[of as keyof typeof fleets] : newest, facts).match?.cell;

/** The card that works gets its image, and so do a card that another user may open, and one that works so far or outside of this engine. */
const works = [
  "a vGPU has no licence",
  "under WSL2 the container toolkit is older than the Windows driver",
  "a CDI specification names another driver's libraries",
  "no flavor drives both cards",
  "a device of NVIDIA may not be opened",
  "no render node of an AMD GPU may be opened",
];

describe("a state", () => {
  it.each(Object.entries(cases))("%s: no image for its GPUs, until the cure", async (name, state) => {
    const broken = await state.broken();
    const problem = broken.problems.find(({ code: found }) => found === state.code);
    expect(problem?.fix, JSON.stringify(broken.problems)).toBeTypeOf("string");
    if (!works.includes(name)) expect(winner(broken, state)).not.toBe("gpu");
    const mended = await state.mended();
    expect(mended.problems).toEqual([]);
    expect(winner(mended, state)).toBe("gpu");
  });

  it("is a row of docs/compatibility.md with its code", () => {
    const text = readFileSync(join(root, "docs/compatibility.md"), "utf8");
    const table = /\| state \|.*\n\| -.*\n((?:\|.*\n)+)/.exec(text)?.[1] ?? "";
    const rows = table
      .trim()
      .split("\n")
      .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));
    for (const row of rows) expect(row, row[0]).toHaveLength(5);
    const codes = rows.map(([state = "", , , found = ""]) => [state, found.replaceAll("`", "")]);
    expect(Object.fromEntries(codes)).toEqual(
      Object.fromEntries(Object.entries(cases).map(([name, state]) => [name, state.code])),
    );
    for (const [, found = ""] of codes) expect(Object.hasOwn(problemCodes, found), found).toBe(true);
  });
});
