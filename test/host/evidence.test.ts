/** The tables of evidence (src/host/…/evidence.ts): each row is a case here, which changes one source and gives what the row says. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { amdEvidence } from "../../src/host/amd/evidence.ts";
import { hipStart } from "../../src/host/amd/hip-start.ts";
import type { FactEvidence, Meaning } from "../../src/host/evidence.ts";
import { denied, type HostIo } from "../../src/host/host-io.ts";
import { cudaStart } from "../../src/host/nvidia/cuda-start.ts";
import { nvidiaEvidence } from "../../src/host/nvidia/evidence.ts";
import {
  type NvmlAnswer,
  type NvmlDevice,
  type NvmlReading,
  nvmlCodes,
} from "../../src/host/nvidia/nvml-reading.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import type { Start, StartTable } from "../../src/host/start-table.ts";
import { smiOfNvml } from "../node/sh/support/smi-of-nvml.ts";
import { fixtureHostIo, type SmiFile, smiAnswer } from "../support/fixture-host-io.ts";
import { readHost } from "../support/read-hosts.ts";
import * as amd from "./amd/support/amd-host.ts";

const machine = (name: string) => fixtureHostIo(join(import.meta.dirname, "../fixtures/hosts", name));

/** One source changed. */
type Change = (io: HostIo) => HostIo;
const nvml =
  (change: (reading: NvmlReading) => NvmlReading | null): Change =>
  (io) => ({
    ...io,
    readNvml: async (names) => {
      const found = await io.readNvml(names);
      return found && change(found);
    },
  });
const device = (change: Partial<NvmlDevice>) =>
  nvml((reading) => ({ ...reading, devices: reading.devices.map((each) => ({ ...each, ...change })) }));
const version = (cudaVersion: NvmlReading["cudaVersion"]) => nvml((reading) => ({ ...reading, cudaVersion }));
const init = (code: number) => nvml((reading) => ({ ...reading, init: code, devices: [] }));
const listsNone = nvml((reading) => ({ ...reading, deviceCount: { value: 0 }, devices: [] }));
const node =
  (path: string, exists: boolean, opens = exists): Change =>
  (io) => ({
    ...io,
    exists: (each) => (each === path ? exists : io.exists(each)),
    mayOpen: (each) => (each === path ? opens : io.mayOpen(each)),
  });
const file =
  (path: string, text: string | null | "denied"): Change =>
  (io) => ({ ...io, readText: (each) => (each === path ? text : io.readText(each)) as string | null });
const emptied =
  (folder: string, ...more: readonly string[]): Change =>
  (io) => ({ ...io, list: (each) => (each === folder ? more : io.list(each)) });
const and =
  (...changes: readonly Change[]): Change =>
  (io) =>
    changes.reduce((changed, change) => change(changed), io);

const gpus = "/proc/driver/nvidia/gpus";
const bus = "/sys/bus/pci/devices";
const byLibrary = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
/** A T4 with all its nodes. */
const t4 = and(
  node("/dev/nvidia-uvm", true),
  node(byLibrary, true),
  node("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", true),
)(machine("debian12-cascadelake-t4_vm"));
const reading = await t4.readNvml([]);
const table = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |\n";
/** Where koffi is not there, nvidia-smi answers as the same driver would. */
const smi =
  (change: SmiFile, of: (told: SmiFile) => SmiFile = (told) => ({ ...told, ...change })): Change =>
  (io) => ({
    ...io,
    readNvml: async () => null,
    run: async (_, args) =>
      reading === null ? null : smiAnswer(of({ ...smiOfNvml(reading), table, list: "" }), args),
  });
const bySmi = smi({})(t4);
/** Where libcuda's file tells its version, nobody asks nvidia-smi for its head. */
const headAsked = file(byLibrary, "")(bySmi);
const prints = (stdout: string, status = 0, timedOut = false): Case => ({
  base: bySmi,
  change: smi({ always: { stdout, status, timedOut } }),
});
const column = (change: Readonly<Record<string, readonly string[]>>): Case => ({
  base: bySmi,
  change: smi({}, (told) => ({ ...told, fields: { ...told.fields, ...change } })),
});
const unread: Change = (io) => ({ ...io, readNvml: async () => null, run: async () => null });
const wsl = machine("wsl2-zen3-smi_crash");
const onlyDxg: Change = (io) => ({ ...io, exists: (path) => path === "/dev/dxg" });
const stray = "0000:99:00.0";
const strayFiles = and(
  file(`${bus}/${stray}/vendor`, "0x10de"),
  file(`${bus}/${stray}/device`, "0x1eb8"),
  file(`${bus}/${stray}/class`, "0x030200"),
  emptied(bus, "0000:17:00.0", stray),
  (io) => ({
    ...io,
    readLink: (path) =>
      path.includes(stray) && path.endsWith("/driver") ? "../drivers/nvidia" : io.readLink(path),
  }),
);
const label = (labels: Readonly<Record<string, string>>) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: {
    name: "n1",
    labels: { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", ...labels },
  },
});
const t4Labels = { "nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "1" };
const slice = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: "n1-x" },
  spec: {
    ...{ driver: "gpu.nvidia.com", nodeName: "n1" },
    pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
    devices: [
      {
        name: "gpu-0",
        attributes: {
          ...{ type: { string: "gpu" }, uuid: { string: "GPU-1" }, productName: { string: "Tesla T4" } },
          ...{ cudaComputeCapability: { version: "7.5.0" }, cudaDriverVersion: { version: "12.3.0" } },
          driverVersion: { version: "550.54.15" },
        },
      },
    ],
  },
};

interface Case {
  /** Default: the T4. */
  readonly base?: HostIo;
  readonly change?: Change;
  /** Facts that no machine has been asked for. */
  readonly text?: object;
  readonly start?: Start;
  /** The fact, and what the source tells of it where its answer counts. */
  readonly fact?: (facts: HostFacts) => unknown;
  readonly is?: unknown;
}
const cuda = ({ nvidia }: HostFacts) => nvidia?.cuda;
const cards = ({ nvidia }: HostFacts) => nvidia?.gpus.map(({ compute }) => compute);
const driver = ({ nvidia }: HostFacts) => nvidia?.driver;

const cudaCases: Readonly<Record<string, Case>> = {
  "0, and as many devices as the bus has": { start: { devices: 1 } },
  "an error of the host: 999, 802, …": { start: { call: "cuInit", code: 999 } },
  "34, the toolkit's stub": { start: { call: "cuInit", code: 34 } },
  "a version; more than the driver's branch offers is a compatibility package's": {
    ...{ change: version({ value: 12030 }), fact: cuda, is: "12.3" },
  },
  "6 (seen), 12: no libcuda is found; 13: the one that is found has no functions": {
    change: version({ code: 13 }),
  },
  "another code, or an NVML without it": { change: version({ code: nvmlCodes.absent }) },
  "head of nvidia-smi: a version": {
    ...{ base: headAsked, change: smi({ table: table.replace("12.4", "12.3") }), fact: cuda, is: "12.3" },
  },
  "head of nvidia-smi: `N/A`": {
    ...{ base: headAsked, change: smi({ table: table.replace("12.4", "N/A") }) },
  },
  "empty, gone, or there with its version alone": { change: file(byLibrary, "") },
  "the toolkit's stub, of this process alone": {
    base: { ...t4, env: { ...t4.env, LD_LIBRARY_PATH: "/stubs" } },
    change: node("/stubs/libcuda.so.1", true),
  },
  "a version; never more than the driver's branch offers": {
    text: label({
      ...t4Labels,
      "nvidia.com/cuda.driver-version.full": "550.54.15",
      "nvidia.com/cuda.runtime-version.major": "12",
      "nvidia.com/cuda.runtime-version.minor": "9",
    }),
    ...{ fact: cuda, is: "12.4" },
  },
  "ResourceSlices: a version": {
    text: { apiVersion: "v1", kind: "List", items: [label({}), slice] },
    ...{ fact: cuda, is: "12.3" },
  },
  "the driver's branch, in the tables: a version": { base: unread(t4), fact: cuda, is: "12.4" },
};

const card = (change: Change): Case => ({ change });
const cardCases: Readonly<Record<string, Case>> = {
  "0, and a list": { change: device({ compute: { value: [8, 0] } }), fact: cards, is: ["8.0"] },
  "12, 13, or no library that loads": card(init(12)),
  "nvmlInit: 4": card(init(4)),
  "nvmlInit: 15": card(init(15)),
  "nvmlInit: 18": card(init(18)),
  "9, 17, 999, another code": card(init(17)),
  "none, and a card is there that may be opened": card(listsNone),
  "NVML, of one card: 15": card(device({ handle: 15 })),
  "999 for compute capability, UUID or memory": card(device({ uuid: { code: 999 } })),
  "999 for the PCI address": card(device({ pci: { code: 999 } })),
  "a table": { ...column({ compute_cap: ["8.0"] }), fact: cards, is: ["8.0"] },
  "not there, or it cannot be started (126, 127)": prints("", 126),
  "`No devices were found` (6), `No devices found.` (0), and a card is there that may be opened": prints(
    "No devices were found\n",
    6,
  ),
  "`couldn't communicate` (9)": prints(
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    9,
  ),
  "`Driver/library version mismatch`": prints(
    "Failed to initialize NVML: Driver/library version mismatch\n",
    18,
  ),
  "`Insufficient Permissions` (4)": prints("Failed to initialize NVML: Insufficient Permissions\n", 4),
  "`couldn't find libnvidia-ml.so` (12), another status": prints(
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n",
    12,
  ),
  "nothing in time": prints("", 0, true),
  "`[Unknown Error]` for compute capability, UUID or memory": column({ uuid: ["[Unknown Error]"] }),
  "`[Unknown Error]` for anything else": column({ "pci.bus_id": ["[Unknown Error]"] }),
  "/proc/driver/nvidia/gpus: empty": card(emptied(gpus)),
  "/proc/driver/nvidia/gpus: a card that the driver does not list": card(
    and(
      emptied(gpus, "0000:17:00.0", stray),
      file(`${gpus}/${stray}/information`, "Model: \t Tesla T4\nDevice Minor: \t 1\n"),
    ),
  ),
  "/sys/bus/pci/devices: empty": card(emptied(bus)),
  "/sys/bus/pci/devices: a card that the driver does not list": card(strayFiles),
};

const utility = (io: HostIo): HostIo => ({
  ...io,
  env: { ...io.env, NVIDIA_DRIVER_CAPABILITIES: "utility" },
});
const openCases: Readonly<Record<string, Case>> = {
  "/dev/nvidiactl: absent": card(node("/dev/nvidiactl", false)),
  "refused by open, where NVML fails": { base: init(999)(t4), change: node("/dev/nvidiactl", true, false) },
  "absent, where the driver lists no card": { base: listsNone(t4), change: node("/dev/nvidia0", false) },
  "refused by open, where the driver lists no card": {
    ...{ base: listsNone(t4), change: node("/dev/nvidia0", true, false) },
  },
  "/dev/nvidia-uvm: absent": card(node("/dev/nvidia-uvm", false)),
  "absent, with the capability `utility` alone": {
    base: utility(t4),
    change: node("/dev/nvidia-uvm", false),
  },
  "/dev/nvidia-uvm: refused by open": card(node("/dev/nvidia-uvm", true, false)),
};

const [procVersion, sysVersion] = ["/proc/driver/nvidia/version", "/sys/module/nvidia/version"];
const driverCases: Readonly<Record<string, Case>> = {
  "/proc/driver/nvidia/version: a version": {
    change: file(procVersion, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  x\n"),
    ...{ fact: driver, is: "550.90.07" },
  },
  "/proc/driver/nvidia/version: absent": card(file(procVersion, null)),
  "not readable": card((io) => ({
    ...io,
    readText: (path, limit) => (path === procVersion ? denied : io.readText(path, limit)),
  })),
  "/sys/module/nvidia/version: a version": {
    base: file(procVersion, null)(t4),
    change: file(sysVersion, "550.90.07\n"),
    ...{ fact: driver, is: "550.90.07" },
  },
  "NVML or nvidia-smi: a version": {
    base: and(file(procVersion, null), file(sysVersion, null))(t4),
    change: nvml((told) => ({ ...told, driverVersion: { value: "550.90.07" } })),
    ...{ fact: driver, is: "550.90.07" },
  },
};
const twin: Change = nvml((told) => {
  const [first] = told.devices;
  if (first === undefined) return told;
  const second = {
    ...first,
    uuid: { value: "GPU-00000009-1111-4222-8333-000000000001" },
    pci: { value: { id: 0x1eb810de, bus: "00000000:99:00.0" } },
  };
  return { ...told, deviceCount: { value: 2 }, devices: [first, second] };
});
const p2p = (status: NvmlAnswer<number>) => and(twin, device({ nvlink: [status, status] }));
const links = ({ nvidia }: HostFacts) => nvidia?.gpus.map((gpu) => gpu.links);
const matrix = (word: string): Change =>
  and(smi({}, twice), (io) => ({
    ...io,
    run: async (command, args, limits) =>
      args[0] === "topo"
        ? {
            ...{ status: 0, stderr: "", timedOut: false },
            stdout: `\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t${word}\t0-7\nGPU1\t${word}\t X \t0-7\n`,
          }
        : io.run(command, args, limits),
  }));
/** Two cards in place of one. */
const twice = (told: SmiFile): SmiFile => ({
  ...told,
  fields: Object.fromEntries(
    Object.entries(told.fields ?? {}).map(([name, [value = ""]]) => [
      name,
      [
        value,
        { index: "1", uuid: "GPU-00000009-1111-4222-8333-000000000001", "pci.bus_id": "00000000:99:00.0" }[
          name
        ] ?? value,
      ],
    ]),
  ),
});
const linkCases: Readonly<Record<string, Case>> = {
  "status 0": { change: p2p({ value: 0 }), fact: links, is: [[1], [0]] },
  "status 1 to 5: no link": { change: p2p({ value: 5 }), fact: links, is: [[], []] },
  "status 6, another code, or an NVML without it": {
    change: p2p({ code: 999 }),
    ...{ fact: links, is: [undefined, undefined] },
  },
  "`NV12`": { change: matrix("NV12"), fact: links, is: [[1], [0]] },
  "`SYS`, `NODE`, `PHB`, `PXB`, `PIX`: no link": { change: matrix("PHB"), fact: links, is: [[], []] },
  "another word, or no row": { change: matrix("N/A"), fact: links, is: [undefined, undefined] },
};
const numa = ({ nvidia }: HostFacts) => nvidia?.gpus.map((gpu) => gpu.numa);
const numaNode = (text: string | null) => file(`${bus}/0000:17:00.0/numa_node`, text);
const numaCases: Readonly<Record<string, Case>> = {
  "a number": { change: numaNode("1\n"), fact: numa, is: [1] },
  "-1: the kernel names no node": { change: numaNode("-1\n"), fact: numa, is: [null] },
  "absent, or something else": { change: numaNode("0x1"), fact: numa, is: [undefined] },
};
const wslCases: Readonly<Record<string, Case>> = {
  "alone, without the files of NVIDIA's Windows driver": { base: unread(wsl), change: onlyDxg },
  "9, without the files of NVIDIA's Windows driver": {
    base: and(onlyDxg, unread)(wsl),
    change: (io) => ({
      ...io,
      readNvml: async () => (reading === null ? null : { ...reading, init: 9, devices: [] }),
    }),
  },
  "there, and neither NVML nor nvidia-smi": { base: and(onlyDxg, unread)(wsl), change: () => unread(wsl) },
};

const mi300x: amd.AmdMachine = {
  files: {
    "/sys/module/amdgpu/initstate": "live\n",
    ...amd.pci("0000:83:00.0", "1002:74a1", "0x120000"),
    ...amd.processor(0),
    ...amd.node(1, {
      ...{ gfx_target_version: 90402, device_id: 0x74a1, num_xcc: 8 },
      ...{ drm_render_minor: 128, location_id: 0x8300, unique_id: 1 },
    }),
  },
  links: amd.heldBy("amdgpu", "0000:83:00.0"),
  devices: amd.devices(1),
};
const without = (pattern: RegExp) =>
  Object.fromEntries(Object.entries(mi300x.files ?? {}).filter(([path]) => !pattern.test(path)));
const withNode = (change: Readonly<Record<string, number>>) => ({
  ...mi300x.files,
  ...amd.node(1, {
    device_id: 0x74a1,
    num_xcc: 8,
    drm_render_minor: 128,
    location_id: 0x8300,
    unique_id: 1,
    ...change,
  }),
});
const ofAmd = (change: amd.AmdMachine): Case => ({
  base: amd.amdHost(mi300x),
  change: () => amd.amdHost({ ...mi300x, ...change }),
});
const targets = ({ amd: facts }: HostFacts) => facts?.gpus.map(({ target }) => target);
const amdCards: Readonly<Record<string, Case>> = {
  "hipInit, where it is asked: 0": { start: { devices: 1 } },
  "2, 3, 999, no answer": { start: { call: "hipInit", code: 999 } },
  "fewer devices: a library counts the GPUs that it knows": { start: { devices: 0 } },
  "a node with SIMDs": { ...ofAmd({}), fact: targets, is: ["gfx942"] },
  "absent, and amdgpu holds a card": ofAmd({ files: without(/kfd/) }),
  "a node that may not be read": ofAmd({
    files: without(/nodes\/1\//),
    denied: ["/sys/class/kfd/kfd/topology/nodes/1/properties"],
  }),
  "/dev/kfd: absent": ofAmd({ devices: amd.render(128) }),
  "/dev/kfd: refused by open": ofAmd({ devices: amd.render(128), denied: [amd.kfd] }),
  "/dev/dri/renderD128: absent": ofAmd({ devices: [amd.kfd] }),
  "/dev/dri/renderD128: refused by open": ofAmd({ devices: [amd.kfd], denied: amd.render(128) }),
  "/sys/bus/pci/devices: empty": ofAmd({ files: without(/pci/), links: {} }),
  "there: WSL shows cards of AMD in no file": {
    base: amd.amdHost({}),
    change: () => amd.amdHost({ devices: ["/dev/dxg"] }),
    ...{ fact: ({ amd: facts }) => facts, is: undefined },
  },
};
const amdTargets: Readonly<Record<string, Case>> = {
  "a number": { ...ofAmd({ files: withNode({ gfx_target_version: 90500 }) }), fact: targets, is: ["gfx950"] },
  "0 or absent: the device id tells it": ofAmd({ files: withNode({}) }),
  "the device id, in the tables: unknown": ofAmd({ files: withNode({ device_id: 0xfff0 }) }),
};
const xgmi = (type: number, count = 1) =>
  ofAmd({
    files: {
      ...withNode({ io_links_count: count }),
      ...amd.node(2, {
        ...{ gfx_target_version: 90402, device_id: 0x74a1, num_xcc: 8, io_links_count: 0 },
        ...{ drm_render_minor: 129, location_id: 0x9300, unique_id: 2 },
      }),
      "/sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties": `type ${type}\nnode_from 1\nnode_to 2\n`,
    },
    devices: amd.devices(2),
  });
const amdLinks = ({ amd: facts }: HostFacts) => facts?.gpus.map((gpu) => gpu.links);
const amdLinkCases: Readonly<Record<string, Case>> = {
  "of type 11, to a GPU": { ...xgmi(11), fact: amdLinks, is: [[1], []] },
  "of other types alone: no link": { ...xgmi(2), fact: amdLinks, is: [[], []] },
  "fewer than the node counts": { ...xgmi(11, 2), fact: amdLinks, is: [undefined, []] },
};
const amdDriver = ({ amd: facts }: HostFacts) => facts?.driver;
const amdDrivers: Readonly<Record<string, Case>> = {
  "/sys/module/amdgpu/version: a version": {
    ...ofAmd({ files: { ...mi300x.files, "/sys/module/amdgpu/version": "6.14.14\n" } }),
    ...{ fact: amdDriver, is: "6.14.14" },
  },
  "absent: the kernel's own module has none": { ...ofAmd({}), fact: amdDriver, is: null },
};

type Cases = readonly Readonly<Record<string, Case>>[];
const vendors: readonly (readonly [string, readonly FactEvidence[], Cases, StartTable])[] = [
  [
    "NVIDIA",
    nvidiaEvidence,
    [cudaCases, cardCases, openCases, driverCases, linkCases, numaCases, wslCases],
    cudaStart,
  ],
  ["AMD", amdEvidence, [amdCards, amdTargets, amdLinkCases, amdDrivers], hipStart],
];

/** The answers that a probe was given: by the function and its first argument. */
function recorded(io: HostIo): { readonly io: HostIo; readonly answers: Map<string, string> } {
  const answers = new Map<string, string>();
  const record = Object.entries(io).map(([name, member]) => [
    name,
    typeof member !== "function"
      ? member
      : (...args: readonly unknown[]) => {
          const answer = member.apply(io, args);
          const keep = (value: unknown) =>
            answers.set(`${name} ${args[0]}`, JSON.stringify(value === denied ? "denied" : (value ?? null)));
          if (answer instanceof Promise) answer.then(keep);
          else keep(answer);
          return answer;
        },
  ]);
  return { io: Object.fromEntries(record), answers };
}

/** Files of these folders are one source. */
const folders = [gpus, bus, "/sys/class/kfd", "/usr/lib/wsl"];

function sourceOf(asked: string): string {
  const [name = "", path = ""] = asked.split(" ");
  if (name === "readNvml" || name === "run") return name;
  return folders.find((folder) => path.startsWith(folder)) ?? path;
}

const inside: Change = (io) => ({ ...io, exists: (path) => path === "/.dockerenv" || io.exists(path) });

async function outcome(each: Case, place: Change, { problem, proved }: StartTable) {
  const { base = t4, change = (io) => io, text, start, fact = cards } = each;
  const io = place(base);
  const first = recorded(io);
  const before = await probeHost(first.io);
  if (start !== undefined) {
    const facts = before.nvidia === null ? await probeHost(amd.amdHost(mi300x)) : before;
    const told = { code: "HOST_SMI_FAILED", message: "", fix: "" } as const;
    const isProof = "devices" in start && start.devices > 0;
    const after = isProof ? await proved({ ...facts, problems: [told] }, io) : facts;
    const found = problem(start, after, io);
    return { facts: after, before: facts, codes: found === null ? [] : [found.code], fact };
  }
  if (text !== undefined) {
    const facts = await readHost(JSON.stringify(text), "node.json");
    return { facts, before, codes: [], fact };
  }
  const second = recorded(place(change(base)));
  const facts = await probeHost(second.io, { pairs: true });
  const changed = [...second.answers].filter(([asked, answer]) => {
    const was = first.answers.get(asked);
    return was !== undefined && was !== answer;
  });
  expect([...new Set(changed.map(([asked]) => sourceOf(asked)))].slice(1), "more than one source").toEqual(
    [],
  );
  return { facts, before, codes: facts.problems.map(({ code }) => code), fact };
}

describe.each(vendors)("evidence of %s", (_vendor, facts, cases, start) => {
  it("has a case for each row", () => {
    const keys = facts.map(({ rows }) => rows.map(({ source, answer }) => [`${source}: ${answer}`, answer]));
    expect(cases.map((each) => Object.keys(each).length)).toEqual(keys.map((rows) => rows.length));
    for (const [index, rows] of keys.entries())
      for (const [long = "", short = ""] of rows)
        expect(
          Object.keys(cases[index] ?? {}).some((key) => key === long || key === short),
          long,
        ).toBe(true);
  });

  const rows = facts.flatMap(({ fact, rows: of }, index) =>
    of.flatMap((row) => {
      const each = cases[index]?.[`${row.source}: ${row.answer}`] ?? cases[index]?.[row.answer];
      const { means, inContainer = means } = row;
      const name = `${fact}: ${row.source}: ${row.answer}`;
      return [
        [name, "outside of a container", each, means, (io: HostIo) => io] as const,
        [name, "in a container", each, inContainer, inside] as const,
      ];
    }),
  );
  it.each(rows)("%s (%s)", async (_name, _place, each, means, place) => {
    const { facts: after, before, codes, fact } = await outcome(each ?? {}, place, start);
    expect(codes).toEqual(isCode(means) ? [means] : []);
    if ((means === "value" || means === "unknown") && each?.fact !== undefined)
      expect(fact(after)).toEqual(each.is);
    if (means === "silent")
      expect([fact(after), cuda(after), driver(after)]).toEqual([fact(before), cuda(before), driver(before)]);
    if (means === "none") expect(after.nvidia).toBeNull();
  });
});

function isCode(means: Meaning): boolean {
  return means.startsWith("HOST_");
}

it("of NVML's codes for the version of CUDA", async () => {
  for (const code of [6, 12, 13])
    expect((await probeHost(version({ code })(t4))).problems.map((each) => each.code)).toEqual([
      "HOST_NO_LIBCUDA",
    ]);
});
