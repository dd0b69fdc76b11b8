/** Captured KFD topologies, and facts of single machines, in place; skipped where they are not beside the repository. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { findAmdArchitecture } from "../../src/hardware/amd-architectures.ts";
import type { AmdGpuFacts } from "../../src/facts/facts.ts";
import { describeHostFacts } from "../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { amdHost, captured, devices, node } from "./amd/support/amd-host.ts";

const folder = fileURLToPath(new URL("../../../shared/samples/amd", import.meta.url));
const missing = existsSync(folder)
  ? null
  : "no samples of AMD machines in ../shared/samples/amd, beside the checkout (they are not published)";

const topologies = {
  "topology-parsing": "kfd/topology-parsing/topology",
  "topo-mi210-xgmi-pcie": "kfd/topo-mi210-xgmi-pcie",
  "topo-mi300-cpx": "kfd/topo-mi300-cpx/topology",
  "topology-parsing-mi308": "kfd/topology-parsing-mi308/topology",
} as const;
type Topology = keyof typeof topologies;

const files = (name: Topology) => captured(join(folder, topologies[name]));
/** Nothing hides a GPU: every render node that there may be is there. */
const probed = async (name: Topology) => probeHost(amdHost({ files: files(name), devices: devices(200) }));
const distinct = (gpus: readonly AmdGpuFacts[], fact: keyof AmdGpuFacts) => [
  ...new Set(gpus.map((gpu) => gpu[fact])),
];

describe("captured topologies (../shared/samples/amd/kfd)", needs(missing), () => {
  it.each(Object.keys(topologies) as Topology[])("%s survives the way through a file", async (name) => {
    const facts = await probed(name);
    expect(facts.problems).toEqual([]);
    expect(parseHostFacts(formatHostFacts(facts), "facts.json")).toEqual(facts);
    expect(describeHostFacts(facts).join("\n")).not.toMatch(/null|undefined/);
  });

  it("an old kernel names no target: the device id does", async () => {
    const { amd } = await probed("topology-parsing");
    expect(amd?.gpus[0]).toEqual({
      index: 0,
      uuid: "GPU-c34ec50444dd0a6c",
      name: null,
      target: "gfx900",
      sramecc: false,
      pci: "1002:6860",
      bus: "0000:19:00.0",
      render: "/dev/dri/renderD128",
      memoryMiB: 16368,
      partition: null,
      integrated: false,
    });
    expect(amd?.gpus).toHaveLength(2);
  });

  it("eight MI210", async () => {
    const gpus = (await probed("topo-mi210-xgmi-pcie")).amd?.gpus ?? [];
    expect(gpus).toHaveLength(8);
    expect(distinct(gpus, "target")).toEqual(["gfx90a"]);
    expect(distinct(gpus, "name")).toEqual(["AMD Instinct MI210"]);
    expect(distinct(gpus, "sramecc")).toEqual([true]);
    expect(distinct(gpus, "partition")).toEqual([null]);
    expect(distinct(gpus, "uuid")).toHaveLength(8);
    expect(gpus.map(({ bus }) => bus)).toEqual(
      ["63", "43", "03", "26", "e3", "c3", "83", "a3"].map((bus) => `0000:${bus}:00.0`),
    );
  });

  it("an MI300X in CPX is a GPU for each die, at the address of its card", async () => {
    const gpus = (await probed("topo-mi300-cpx")).amd?.gpus ?? [];
    expect(gpus).toHaveLength(63);
    expect(gpus.map(({ index }) => index)).toEqual(gpus.map((_, index) => index));
    for (const [fact, value] of [
      ["target", "gfx942"],
      ["name", "AMD Instinct MI300X"],
      ["sramecc", true],
      ["partition", "CPX"],
      ["integrated", false],
    ] as const)
      expect(distinct(gpus, fact)).toEqual([value]);
    expect(distinct(gpus, "uuid")).toHaveLength(8);
    expect(distinct(gpus, "bus")).toHaveLength(8);
    expect(gpus.every(({ bus }) => bus?.endsWith(":00.0"))).toBe(true);
    expect(distinct(gpus, "render")).toHaveLength(63);
  });

  it("an MI308X in CPX", async () => {
    const gpus = (await probed("topology-parsing-mi308")).amd?.gpus ?? [];
    expect(gpus).toHaveLength(32);
    expect(distinct(gpus, "target")).toEqual(["gfx942"]);
    expect(distinct(gpus, "name")).toEqual(["AMD Instinct MI308X"]);
    expect(distinct(gpus, "partition")).toEqual(["CPX"]);
    expect(distinct(gpus, "memoryMiB")).toEqual([49_152, 49_136]);
    expect(distinct(gpus, "uuid")).toHaveLength(8);
    expect(distinct(gpus, "bus")).toHaveLength(8);
  });
});

interface Machine {
  readonly gfx: string;
  readonly real: boolean;
  readonly pci?: string;
  readonly gfx_target_version?: number;
  readonly simd_count?: number;
  readonly location_id?: number;
  readonly render?: string;
  readonly pci_address?: string;
  readonly vram_bytes?: number;
  readonly compute_partition?: string;
  readonly unique_id_sysfs_hex?: string;
  readonly module_version?: string;
  readonly capability?: number;
}

const machines: readonly Machine[] =
  missing === null ? parse(readFileSync(join(folder, "nodes/single-nodes.yaml"), "utf8")) : [];
const listed = machines.filter((machine) => machine.real && machine.gfx_target_version !== undefined);

describe("single machines (../shared/samples/amd/nodes)", needs(missing), () => {
  it.each(listed)("$gfx $pci $product", async (machine) => {
    const minor = Number(/\d+$/.exec(machine.render ?? "")?.[0] ?? 128);
    const drm = `/sys/class/drm/renderD${minor}/device`;
    const io = amdHost({
      files: {
        ...node(1, {
          gfx_target_version: machine.gfx_target_version ?? 0,
          simd_count: machine.simd_count ?? 128,
          device_id: Number.parseInt(machine.pci ?? "0", 16),
          drm_render_minor: minor,
          location_id: machine.location_id ?? 0,
          capability: machine.capability ?? 0,
          unique_id: BigInt(`0x${machine.unique_id_sysfs_hex ?? "0"}`).toString(),
        }),
        [`${drm}/product_name`]: "\n",
        ...(machine.vram_bytes === undefined
          ? {}
          : { [`${drm}/mem_info_vram_total`]: `${machine.vram_bytes}\n` }),
        ...(machine.compute_partition === undefined
          ? {}
          : { [`${drm}/current_compute_partition`]: `${machine.compute_partition}\n` }),
        "/sys/module/amdgpu/initstate": "live\n",
        ...(machine.module_version === undefined
          ? {}
          : { "/sys/module/amdgpu/version": `${machine.module_version}\n` }),
      },
      links: machine.pci_address === undefined ? {} : { [drm]: `../../../${machine.pci_address}` },
      devices: ["/dev/kfd", `/dev/dri/renderD${minor}`],
    });
    const { amd, problems } = await probeHost(io);
    expect(problems).toEqual([]);
    expect(amd?.driver).toBe(machine.module_version ?? null);
    const [gpu] = amd?.gpus ?? [];
    expect(gpu?.target).toBe(machine.gfx);
    expect(gpu?.partition).toBe(machine.compute_partition ?? null);
    expect(gpu?.memoryMiB).toBe(
      machine.vram_bytes === undefined ? null : Math.floor(machine.vram_bytes / 2 ** 20),
    );
    if (machine.pci_address !== undefined) expect(gpu?.bus).toBe(machine.pci_address);
    if (machine.unique_id_sysfs_hex !== undefined)
      expect(gpu?.uuid).toBe(`GPU-${machine.unique_id_sysfs_hex}`);
  });

  it("has machines with a target of their own", () => {
    expect(listed.length).toBeGreaterThanOrEqual(5);
  });
});

const bootstrap = process.env.IMGMATCH_ROCM_BOOTSTRAP;
const env = { ...process.env, ...(bootstrap === undefined ? {} : { PYTHONPATH: bootstrap }) };
const install = "pip3 install --target FOLDER rocm-bootstrap, and IMGMATCH_ROCM_BOOTSTRAP=FOLDER";
const whyNoBootstrap = whyNot("python3", ["-c", "import rocm_bootstrap"], { install, env });

/** AMD's own detection (rocm-bootstrap, MIT), which skips a GPU whose kernel prints no target; without a tree, all that it knows. */
const script = `
import json, pathlib, sys
from rocm_bootstrap import _platform, detect, targets
if len(sys.argv) > 1:
    _platform.KFD_TOPOLOGY = pathlib.Path(sys.argv[1])
    gpus = sorted(detect._detect_via_kfd_topology(), key=lambda gpu: gpu.node_id)
    print(json.dumps([gpu.target.name for gpu in gpus]))
else:
    print(json.dumps([target.gfx_target_version for target in targets._TARGET_BY_GTV.values()]))
`;

describe("AMD's own reading", needs(whyNoBootstrap), () => {
  const amdSays = (...tree: readonly string[]) => {
    const { stdout, stderr } = spawnSync("python3", ["-c", script, ...tree], { encoding: "utf8", env });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout) as readonly (number | string)[];
  };

  it("names every target that it knows as we do, and we know them all", async () => {
    const versions = amdSays().map(Number);
    expect(versions.length).toBeGreaterThan(20);
    const nodes = versions.map((version, index) => node(index + 1, { gfx_target_version: version }));
    const all = Object.assign({}, ...nodes) as Record<string, string>;
    const inTree = Object.entries(all).map(([path, text]) => [path.split("/nodes/")[1] ?? "", text]);
    const { amd } = await probeHost(amdHost({ files: all, devices: devices(1) }));
    const targets = amd?.gpus.map(({ target }) => target) ?? [];
    expect(amdSays(makeFolder(Object.fromEntries(inTree)))).toEqual(targets);
    expect(targets.filter((target) => findAmdArchitecture(target ?? "") === null)).toEqual([]);
  });

  describe("of captured topologies", needs(missing), () => {
    it.each(Object.keys(topologies) as Topology[])("%s", async (name) => {
      const gpus = (await probed(name)).amd?.gpus ?? [];
      const said = amdSays(join(folder, topologies[name], "nodes"));
      expect(said).toEqual(name === "topology-parsing" ? [] : gpus.map(({ target }) => target));
    });
  });
});
