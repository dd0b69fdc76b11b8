/** Machines with GPUs of AMD by chance, and fleets with images for them, drawn from few values so that most rules decide often. */

import { findMarch, marchFeatures } from "../../../../src/hardware/cpu-marches.ts";
import { lockOf, rocmImage } from "../../../resolve/support/locks.ts";
import { node, pci } from "../../../host/amd/support/amd-host.ts";
import type { Lock, LockedImage } from "../../../../src/lock/lock.ts";
import { type Chance, pick } from "./chance.ts";
import { wholeFleet } from "./fleet.ts";
import { type RandomMachine, randomMachine } from "./random-machine.ts";

/** Device id, `gfx_target_version` (0 from an old kernel), and whether sramecc is on. */
const cards: readonly (readonly [id: number, version: number, sramecc: boolean])[] = [
  [0x74a1, 90402, true],
  [0x74a1, 90402, true],
  [0x74a1, 90402, false],
  [0x740f, 90010, true],
  [0x740f, 90010, false],
  [0x740f, 0, false],
  [0x738c, 0, true],
  [0x6860, 0, false],
  [0x66a1, 90006, true],
  [0x75a0, 90500, true],
  [0x731f, 100100, false],
  [0x73bf, 100300, false],
  [0x744c, 110000, false],
  [0x744c, 110000, false],
  [0x7551, 120001, false],
  [0xfff1, 120500, true],
  [0xfff2, 190909, false],
  [0xfff3, 0, false],
  [0xfff4, 42, false],
];
/** GPUs of processors; the last says so by `cpu_cores_count` too. */
const inner: readonly (readonly [id: number, version: number, cores: number])[] = [
  [0x164e, 100306, 0],
  [0x1586, 110501, 0],
  [0x1638, 0, 0],
  [0x74a0, 90402, 0],
  [0x74a0, 90402, 24],
];

/** On most of these machines the CPU decides nothing. */
const march = findMarch("x86-64-v3");
const cpuinfo = `flags : ${march === null ? "" : marchFeatures(march).join(" ")}\n`;

const drm = (minor: number) => `/sys/class/drm/renderD${minor}/device`;
const properties = (number: number) => `/sys/class/kfd/kfd/topology/nodes/${number}/properties`;
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");

/** Of GPUs of AMD, of NVIDIA's too, or of neither. */
export function randomAmdMachine(chance: Chance): RandomMachine {
  const some = (share: number) => chance() < share;
  const base = randomMachine(chance);
  const { machine } = base;
  const beside = some(0.35);
  const files = new Map([...machine.files].filter(([path]) => beside || !/nvidia|\/pci\//.test(path)));
  const nodes = machine.nodes.filter((path) => beside || !path.startsWith("/dev/nvidia"));
  const links: Record<string, string> = beside ? { ...machine.links } : {};
  const env: Record<string, string> = beside ? { ...machine.env } : {};
  const denied: string[] = [];
  const add = (more: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(more)) files.set(path, text);
  };
  if (some(0.7)) add({ "/proc/cpuinfo": cpuinfo });
  if (some(0.04)) nodes.push("/dev/dxg");
  const onBus = (location: number, id: number) => {
    const address = `0000:${hex(location >> 8, 2)}:${hex((location >> 3) & 31, 2)}.${location & 7}`;
    add(pci(address, `1002:${hex(id, 4)}`, pick(chance, ["0x030000", "0x038000", "0x120000", "0x040300"])));
    const holder = some(0.9) ? "amdgpu" : pick(chance, [null, "vfio-pci", "radeon"]);
    if (holder !== null)
      links[`/sys/bus/pci/devices/${address}/driver`] = `../../../bus/pci/drivers/${holder}`;
    return address;
  };
  if (some(0.9)) add({ "/sys/module/amdgpu/initstate": "live\n" });
  if (some(0.4))
    add({ "/sys/module/amdgpu/version": pick(chance, ["6.14.14\n", "6.19.14.31400000\n", "x\n"]) });
  add(node(0, { cpu_cores_count: 64, simd_count: 0, vendor_id: 0 }));
  const first = pick(chance, cards);
  const mixed = some(0.3);
  const count = pick(chance, [0, 1, 1, 2, 2, 4]);
  const parts = some(0.1) ? 8 : 1;
  let number = 0;
  const gpu = (location: number, more: Readonly<Record<string, number | string>>, address: string) => {
    number++;
    const minor = 127 + number;
    const at = some(0.97) ? { drm_render_minor: minor } : {};
    // Old nodes come late, so their numbers have more digits.
    const place = number * pick(chance, [1, 1, 5]) + 1;
    add(node(place, { ...more, ...at, location_id: location, domain: 0 }));
    if (some(0.03)) denied.push(properties(place));
    if (some(0.5)) links[drm(minor)] = some(0.9) ? `../../../${address}` : "../../amdgpu_xcp_1";
    if (some(0.96)) nodes.push(`/dev/dri/renderD${minor}`);
    if (some(0.04)) denied.push(`/dev/dri/renderD${minor}`);
  };
  for (let index = 0; index < count; index++) {
    const [id, version, sramecc] = mixed ? pick(chance, cards) : first;
    const location = (index + 1) * 0x2300;
    const address = onBus(location, id);
    const unique = some(0.9) ? `${index + 1}000000000000000001` : "0";
    for (let part = 0; part < parts; part++)
      gpu(
        location + part,
        {
          device_id: id,
          gfx_target_version: version,
          capability: sramecc ? 2_893_521_536 : 671_588_992,
          unique_id: unique,
          num_xcc: parts === 1 ? 8 : 1,
        },
        address,
      );
  }
  if (some(0.3)) {
    const [id, version, cores] = pick(chance, inner);
    gpu(0x500, { device_id: id, gfx_target_version: version, cpu_cores_count: cores }, onBus(0x500, id));
  }
  // Cards that the compute driver does not list, and one of another vendor by the same driver.
  if (some(0.1)) onBus(0xe700, pick(chance, [0x74a1, 0x164e, 0x515e]));
  if (some(0.05)) add(node(90, { vendor_id: 0x1d94, gfx_target_version: 90402, drm_render_minor: 190 }));
  if (some(0.95)) nodes.push("/dev/kfd");
  if (some(0.03)) denied.push("/dev/kfd");
  if (some(0.2)) env.ROCR_VISIBLE_DEVICES = pick(chance, lists);
  if (some(0.2)) env.HIP_VISIBLE_DEVICES = pick(chance, lists);
  if (some(0.1)) env.CUDA_VISIBLE_DEVICES = pick(chance, lists);
  const smi = beside ? machine.smi : null;
  return { machine: { arch: "x64", env, files, nodes, links, denied, smi }, nvml: beside ? base.nvml : null };
}

/** Of the first card and of the second. */
const [one, two] = ["GPU-0de0b6b3a7640001", "GPU-1bc16d674ec80001"];

const lists = [
  "0",
  "0",
  "1",
  "0,1",
  "1,0",
  " 1 , 0 ",
  "1,1,0",
  "01",
  "3,0",
  "7,0",
  "0,x,1",
  "-1",
  "",
  "all",
  one,
  two.toLowerCase(),
  two.slice(0, 8),
  `${two},0`,
  "GPU-",
];

const codes: readonly (readonly string[])[] = [
  ["gfx942"],
  ["gfx942:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"],
  ["gfx942:sramecc-", "gfx90a:xnack+"],
  ["gfx908:sramecc+", "gfx906", "gfx900", "gfx90a"],
  ["gfx9-generic", "gfx9-4-generic:sramecc+"],
  ["gfx1100", "gfx1151", "gfx1036", "gfx1030"],
  ["gfx11-generic", "gfx12-generic", "gfx10-3-generic", "gfx10-1-generic"],
  ["gfx1201", "gfx1250:xnack+", "gfx1999"],
  ["gfx942", "gfx90a", "gfx1100", "gfx1201", "amdgcnspirv"],
  ["amdgcnspirv"],
];
const preferences = [
  ["accel=rocm-7.2"],
  ["toolkit"],
  ["code"],
  ["vendor"],
  ["targets", "cpu"],
  ["cpu"],
  ["tag"],
  ["accel=rocm-6.4"],
];

/** Images for AMD beside some for NVIDIA and for none. */
export function randomAmdLock(chance: Chance): Lock {
  const share = chance() < 0.6 ? 1 : chance();
  const { images } = wholeFleet(
    (cell) => /^(none|12.8|11.8|10.2)_x86-64(-v3)?$/.test(cell) && chance() < share,
  );
  const found: Record<string, LockedImage> = { ...images };
  const plain = Object.values(wholeFleet((cell) => /^none_x86-64(-v2|-v3)?$/.test(cell)).images);
  const count = pick(chance, [1, 2, 3, 4, 6]);
  for (let index = 0; index < count; index++) {
    const release = pick(chance, ["6.4", "7.1", "7.2"]);
    const { requires, axes } = pick(chance, plain);
    const code = pick(chance, codes);
    const own = { ...axes, accel: `rocm-${release}`, compute: code.join(",") };
    const image = rocmImage(code, release, { axes: own });
    const rocm = image.requires.rocm;
    const both = chance() < 0.1 ? images["12.8_x86-64"]?.requires.cuda : undefined;
    const needs = { ...requires, cuda: both ?? null, ...(rocm === undefined ? {} : { rocm }) };
    const digest = `sha256:${`${index}`.repeat(64)}` as const;
    found[`rocm${index}`] = { ...image, requires: needs, digest };
  }
  return { ...lockOf(found), ...(chance() < 0.4 ? { prefer: pick(chance, preferences) } : {}) };
}
