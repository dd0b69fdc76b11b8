/** GPUs of AMD in every state that sysfs and the device nodes can show. */

import { symlinkSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { describeHostFacts } from "../../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../../src/facts/format-facts.ts";
import { denied } from "../../../src/host/host-io.ts";
import { closedDevices, readKfd } from "../../../src/host/amd/kfd.ts";
import { nodeHostIo } from "../../../src/host/node-host-io.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { probeHost } from "../../../src/host/probe-host.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";
import { makeFolder } from "../../support/folders.ts";
import {
  type AmdMachine,
  amdHost,
  devices,
  heldBy,
  kfd,
  node,
  pci,
  processor,
  render,
} from "./support/amd-host.ts";

const version = { "/sys/module/amdgpu/version": "6.14.14\n" };
/** Two MI300X, whole. */
const mi300x = (number: number, minor: number) =>
  node(number, {
    ...{ gfx_target_version: 90402, device_id: 0x74a1, capability: 2893521536, num_xcc: 8 },
    ...{ location_id: number * 256, drm_render_minor: minor, unique_id: `${number}000000000000000001` },
  });
const two = { ...version, ...processor(0), ...mi300x(1, 128), ...mi300x(2, 129) };
const probed = (machine: AmdMachine) => probeHost(amdHost(machine));
const codes = ({ problems }: HostFacts) => problems.map(({ code }) => code);
const indexes = ({ amd }: HostFacts) => amd?.gpus.map(({ index }) => index);
const buses = ({ amd }: HostFacts) => amd?.gpus.map(({ bus }) => bus);

describe("a machine with AMD GPUs", () => {
  it("has its driver, its GPUs and their sources", async () => {
    const facts = await probed({ files: two, devices: devices(2) });
    expect(facts.nvidia).toBeNull();
    expect(facts.amd?.driver).toBe("6.14.14");
    expect(facts.amd?.gpus[1]).toEqual({
      index: 1,
      uuid: "GPU-1bc16d674ec80001",
      name: "AMD Instinct MI300X",
      target: "gfx942",
      sramecc: true,
      pci: "1002:74a1",
      bus: "0000:02:00.0",
      render: "/dev/dri/renderD129",
      memoryMiB: null,
      partition: null,
      integrated: false,
    });
    expect(facts.sources).toMatchObject({
      "amd.driver": "/sys/module/amdgpu/version",
      "amd.gpus": "/sys/class/kfd/kfd/topology/nodes",
    });
    expect(codes(facts)).toEqual([]);
    expect(describeHostFacts(facts)).toContain(
      "amd 1      AMD Instinct MI300X: gfx942, sramecc, 0000:02:00.0",
    );
  });

  it("tells the GPUs that XGMI joins, and their NUMA nodes, where pairs are asked for", async () => {
    const link = (from: number, number: number, type: number, to: number) => ({
      [`/sys/class/kfd/kfd/topology/nodes/${from}/io_links/${number}/properties`]: `type ${type}\nnode_from ${from}\nnode_to ${to}\nweight 15\n`,
    });
    const gpu = (number: number, minor: number) =>
      node(number, {
        ...{ gfx_target_version: 90010, device_id: 0x740f, io_links_count: 2, location_id: number * 256 },
        ...{ drm_render_minor: minor, unique_id: number },
      });
    const files = {
      ...version,
      ...processor(0),
      ...gpu(1, 128),
      ...gpu(2, 129),
      ...gpu(3, 130),
      // Type 2 is PCIe, to the processor.
      ...{ ...link(1, 0, 2, 0), ...link(1, 1, 11, 3), ...link(3, 0, 2, 0), ...link(3, 1, 11, 1) },
      ...link(2, 0, 2, 0),
      "/sys/bus/pci/devices/0000:01:00.0/numa_node": "1\n",
      "/sys/bus/pci/devices/0000:02:00.0/numa_node": "-1\n",
    };
    const places = async (machine: AmdMachine, pairs = true) =>
      (await probeHost(amdHost(machine), { pairs })).amd?.gpus.map(({ links, numa }) => [links, numa]);
    expect(await places({ files, devices: devices(3) })).toEqual([
      [[2], 1],
      // One of its two links cannot be read.
      [undefined, null],
      [[0], undefined],
    ]);
    // ROCm numbers the GPUs that it can open.
    expect(await places({ files, devices: [kfd, ...render(128, 130)] })).toEqual([
      [[1], 1],
      [[0], undefined],
    ]);
    expect(await places({ files, devices: devices(3) }, false)).toEqual(
      Array(3).fill([undefined, undefined]),
    );
  });

  it("has a driver without a version where it is the kernel's own", async () => {
    const files = { ...processor(0), ...mi300x(1, 128), "/sys/module/amdgpu/initstate": "live\n" };
    const facts = await probed({ files, devices: devices(1) });
    expect(facts.amd?.driver).toBeNull();
    expect(codes(facts)).toEqual([]);
    expect(describeHostFacts(facts)).toContain("amd        driver of the kernel, without a version");
    const suffixed = await probed({ files: { ...two, "/sys/module/amdgpu/version": "6.19.14.31400000\n" } });
    expect(suffixed.amd?.driver).toBe("6.19.14.31400000");
  });

  it("is one without any where nothing of AMD is there, and unknown on WSL2", async () => {
    expect((await probed({})).amd).toBeNull();
    const wsl = await probed({ devices: ["/dev/dxg"] });
    expect("amd" in wsl && wsl.amd !== undefined).toBe(false);
  });

  it("keeps a processor's GPU beside a card, and says which it is", async () => {
    const files = {
      ...{
        ...processor(0),
        ...node(1, { gfx_target_version: 110000, device_id: 0x744c, drm_render_minor: 128 }),
      },
      ...node(2, { gfx_target_version: 100306, device_id: 0x164e, drm_render_minor: 129 }),
    };
    const { amd } = await probed({ files, devices: devices(2) });
    expect(amd?.gpus.map(({ target, integrated }) => [target, integrated])).toEqual([
      ["gfx1100", false],
      ["gfx1036", true],
    ]);
  });

  it("takes name, memory, partition and address from the render node's device", async () => {
    const drm = "/sys/class/drm/renderD128/device";
    const facts = await probed({
      files: {
        ...node(1, {
          gfx_target_version: 90402,
          device_id: 0xffff,
          drm_render_minor: 128,
          location_id: 33537,
        }),
        [`${drm}/product_name`]: "AMD Instinct MI399\n",
        [`${drm}/mem_info_vram_total`]: "206141652992\n",
        [`${drm}/current_compute_partition`]: "DPX\n",
      },
      links: { [drm]: "../../../0000:83:00.1" },
      devices: devices(1),
    });
    expect(facts.amd?.gpus[0]).toMatchObject({
      name: "AMD Instinct MI399",
      memoryMiB: 196592,
      partition: "DPX",
      bus: "0000:83:00.1",
      integrated: false,
    });
  });

  it("has no target where kernel and table know none", async () => {
    const files = { ...two, ...node(3, { device_id: 0xfffe, drm_render_minor: 130 }) };
    const facts = await probed({ files, devices: devices(3) });
    expect(facts.amd?.gpus[2]).toMatchObject({ target: null, sramecc: null, integrated: null });
    expect(codes(facts)).toEqual(["HOST_AMD_TARGET_UNKNOWN"]);
  });

  it("does not take another vendor's card of a forked driver for AMD's", async () => {
    const files = { ...version, ...node(1, { vendor_id: 0x1d94, gfx_target_version: 90306 }) };
    expect((await probed({ files, devices: devices(1) })).amd?.gpus).toEqual([]);
  });
});

describe("devices that are missing", () => {
  const container = { container: "docker" };

  it("says that /dev/kfd is not there, with the cure of a container and of a host", async () => {
    const host = await probed({ files: two, devices: render(128, 129) });
    expect(codes(host)).toEqual(["HOST_AMD_NO_DEVICES"]);
    expect(indexes(host)).toEqual([0, 1]);
    const inside = await probed({ files: two, devices: render(128, 129), env: container });
    expect(inside.amd?.gpus).toEqual([]);
    expect(inside.problems[0]?.message).toContain("/dev/kfd");
    expect(inside.problems[0]?.fix).toContain("docker run --device /dev/kfd --device /dev/dri");
  });

  it("has the target that HSA_OVERRIDE_GFX_VERSION names, and shows that nothing counts it", async () => {
    const of = async (value: string) =>
      probed({ files: two, devices: devices(2), env: { HSA_OVERRIDE_GFX_VERSION: value } });
    const host = await of("10.3.0");
    expect(host.amd?.override).toBe("gfx1030");
    expect(describeHostFacts(host).join("\n")).toContain("HSA_OVERRIDE_GFX_VERSION names gfx1030: ignored");
    expect((await of("9.0.10")).amd?.override).toBe("gfx90a");
    for (const value of ["", "10.3", "gfx1030", "99.99.99"])
      expect((await of(value)).amd).not.toHaveProperty("override");
  });

  it("says that /dev/kfd or every render node may not be opened", async () => {
    const kfd = await probed({ files: two, devices: render(128, 129), denied: ["/dev/kfd"] });
    expect(kfd.problems).toMatchObject([
      { code: "HOST_AMD_NO_PERMISSION", message: "no permission for /dev/kfd" },
    ]);
    expect(indexes(kfd)).toEqual([0, 1]);
    const nodes = await probed({ files: two, devices: ["/dev/kfd"], denied: render(128, 129) });
    expect(nodes.problems[0]?.message).toBe("no permission for /dev/dri/renderD128");
    expect(nodes.problems[0]?.fix).toContain("groups render and video");
  });

  it("counts the GPUs that it was given, as ROCm does", async () => {
    const facts = await probed({ files: two, devices: ["/dev/kfd", "/dev/dri/renderD129"], env: container });
    expect(facts.amd?.gpus.map(({ index, bus }) => [index, bus])).toEqual([[0, "0000:02:00.0"]]);
    expect(codes(facts)).toEqual([]);
  });

  it("are not missed where they are a processor's, in a container", async () => {
    const files = node(1, { gfx_target_version: 100306, device_id: 0x164e, drm_render_minor: 128 });
    expect(codes(await probed({ files, env: container }))).toEqual([]);
    expect(codes(await probed({ files }))).toEqual(["HOST_AMD_NO_DEVICES"]);
  });

  it("leaves out nodes that the device cgroup masks", async () => {
    const masked = "/sys/class/kfd/kfd/topology/nodes/1/properties";
    const one = await probed({ files: two, devices: devices(2), denied: [masked], env: container });
    expect(buses(one)).toEqual(["0000:02:00.0"]);
    expect(codes(one)).toEqual([]);
    const all = [masked, masked.replace("/1/", "/2/")];
    const none = await probed({ files: two, devices: ["/dev/kfd"], denied: all, env: container });
    expect(none.amd?.gpus).toEqual([]);
    expect(none.problems).toMatchObject([
      {
        code: "HOST_AMD_NO_DEVICES",
        message: "none of 2 AMD GPUs of this machine is given to this container",
      },
    ]);
  });
});

describe("PCI devices that are no node", () => {
  const card = pci("0000:83:00.0", "1002:74a1", "0x120000");

  it("lists a card without a driver, by its device id", async () => {
    const facts = await probed({ files: card });
    expect(facts.amd).toEqual({
      driver: null,
      gpus: [
        {
          ...{ index: 0, uuid: null, name: "AMD Instinct MI300X", target: "gfx942", sramecc: null },
          ...{ pci: "1002:74a1", bus: "0000:83:00.0", render: null, memoryMiB: null, partition: null },
          integrated: false,
        },
      ],
    });
    expect(facts.problems).toMatchObject([
      { code: "HOST_AMD_NO_DRIVER", message: "1 AMD GPU (0000:83:00.0) and no amdgpu module that drives it" },
    ]);
    expect(describeHostFacts(facts)).toContain("amd        no driver");
  });

  it("says which driver holds a card, and that amdgpu's own list leaves one out", async () => {
    const held = await probed({ files: card, links: heldBy("vfio-pci", "0000:83:00.0") });
    expect(held.amd?.gpus).toEqual([]);
    expect(held.problems[0]?.message).toBe("vfio-pci holds 1 AMD GPU (0000:83:00.0)");
    const files = { ...two, ...card };
    const left = await probed({ files, devices: devices(2), links: heldBy("amdgpu", "0000:83:00.0") });
    expect(codes(left)).toEqual(["HOST_AMD_GPU_SKIPPED"]);
    expect(indexes(left)).toEqual([0, 1]);
  });

  it("finds no fault in what only draws: an old card, a processor's GPU beside another vendor's", async () => {
    const old = await probed({
      files: pci("0000:01:00.0", "1002:515e"),
      links: heldBy("radeon", "0000:01:00.0"),
    });
    expect(old.amd).toBeNull();
    expect(codes(old)).toEqual([]);
    const bare = await probed({ files: pci("0000:01:00.0", "1002:515e") });
    expect(bare.amd?.gpus.map(({ pci, target }) => [pci, target])).toEqual([["1002:515e", null]]);
    expect(codes(bare)).toEqual([]);
    const desktop = fixtureHostIo("test/fixtures/hosts/ubuntu2404-zen4-rtx4090");
    expect(codes(await probeHost(desktop))).toEqual([]);
  });
});

describe("variables that hide GPUs", () => {
  const files = { ...version, ...mi300x(1, 128), ...mi300x(2, 129), ...mi300x(3, 130), ...mi300x(4, 131) };
  const uuid = (number: number) =>
    `GPU-${BigInt(`${number}000000000000000001`).toString(16).padStart(16, "0")}`;
  const seen = async (env: Record<string, string>) => probed({ files, devices: devices(4), env });

  it.each([
    ["0,3", [0, 3], null],
    ["3,0", [0, 3], null],
    [" 1 , 2 ", [1, 2], null],
    ["", [], "GPUS_HIDDEN"],
    ["-1", [], "GPUS_HIDDEN"],
    ["0,9,1", [0], "VISIBLE_DEVICES_UNCLEAR"],
    ["0,-1,1", [0], "VISIBLE_DEVICES_UNCLEAR"],
    ["1,1,2", [1], "VISIBLE_DEVICES_UNCLEAR"],
    [uuid(2).toLowerCase(), [1], null],
    [`${uuid(2)},0`, [0, 1], null],
    ["GPU-1b", [1], null],
    ["GPU-", [], "VISIBLE_DEVICES_UNCLEAR"],
    ["all", [], "VISIBLE_DEVICES_UNCLEAR"],
  ])("ROCR_VISIBLE_DEVICES=%s", async (value, expected, code) => {
    const facts = await seen({ ROCR_VISIBLE_DEVICES: value });
    expect(indexes(facts)).toEqual(expected);
    expect(codes(facts)).toEqual(code === null ? [] : [`HOST_AMD_${code}`]);
    expect(facts.sources["amd.visible"]).toBe(`ROCR_VISIBLE_DEVICES=${value}`);
  });

  it.each([
    ["0,3", [0, 3], null],
    ["-1", [], "GPUS_HIDDEN"],
    ["1,1,2", [1, 2], null],
    ["0, 1", [0], "VISIBLE_DEVICES_UNCLEAR"],
    ["01", [], "VISIBLE_DEVICES_UNCLEAR"],
    ["0,9,1", [0], "VISIBLE_DEVICES_UNCLEAR"],
    [uuid(2), [1], null],
    [uuid(2).toUpperCase(), [], "VISIBLE_DEVICES_UNCLEAR"],
    ["all", [], "VISIBLE_DEVICES_UNCLEAR"],
  ])("HIP_VISIBLE_DEVICES=%s", async (value, expected, code) => {
    const facts = await seen({ HIP_VISIBLE_DEVICES: value });
    expect(indexes(facts)).toEqual(expected);
    expect(codes(facts)).toEqual(code === null ? [] : [`HOST_AMD_${code}`]);
  });

  it("is empty, and hides nothing from HIP, which then obeys NVIDIA's", async () => {
    expect(indexes(await seen({ HIP_VISIBLE_DEVICES: "" }))).toEqual([0, 1, 2, 3]);
    expect(indexes(await seen({ HIP_VISIBLE_DEVICES: "", CUDA_VISIBLE_DEVICES: "2" }))).toEqual([2]);
    expect(indexes(await seen({ HIP_VISIBLE_DEVICES: "1", CUDA_VISIBLE_DEVICES: "2" }))).toEqual([1]);
  });

  it("counts for HIP what ROCr left, in ROCr's order", async () => {
    const facts = await seen({ ROCR_VISIBLE_DEVICES: "3,1", HIP_VISIBLE_DEVICES: "0" });
    expect(indexes(facts)).toEqual([3]);
    expect(facts.sources["amd.visible"]).toBe("ROCR_VISIBLE_DEVICES=3,1, HIP_VISIBLE_DEVICES=0");
    expect(codes(await seen({ ROCR_VISIBLE_DEVICES: "3", HIP_VISIBLE_DEVICES: "1" }))).toHaveLength(1);
  });

  it("is no problem on a machine without GPUs", async () => {
    expect(codes(await probed({ env: { HIP_VISIBLE_DEVICES: "0", ROCR_VISIBLE_DEVICES: "0" } }))).toEqual([]);
    const files = { ...version, ...processor(0) };
    expect(codes(await probed({ files, env: { HIP_VISIBLE_DEVICES: "0" } }))).toEqual([]);
  });

  it("gives way to --gpus, where no other vendor's GPUs are", async () => {
    const io = amdHost({ files, devices: devices(4), env: { HIP_VISIBLE_DEVICES: "0" } });
    const chosen = async (gpus: string) => indexes(await probeHost(io, { gpus }));
    expect(await chosen("3,1")).toEqual([1, 3]);
    expect(await chosen(uuid(3))).toEqual([2]);
    expect(await chosen("all")).toEqual([0, 1, 2, 3]);
    expect(await chosen("none")).toEqual([]);
    await expect(chosen("4")).rejects.toMatchObject({ code: "SELECTION_INVALID" });
  });
});

it("has device files that this user may not open, of each GPU", () => {
  const closed = (machine: AmdMachine) => closedDevices(amdHost({ files: two, ...machine }));
  expect(closed({ devices: devices(2) })).toEqual([]);
  expect(closed({ devices: devices(1), denied: render(129) })).toEqual(["/dev/dri/renderD129"]);
  expect(closed({ denied: devices(2) })).toEqual(devices(2));
  expect(closed({})).toEqual([]);
});

describe("containers", () => {
  const amdSpec = { "/etc/cdi/amd.json": '{"cdiVersion":"0.6.0","kind":"amd.com/gpu","devices":[]}' };
  it.each([
    ["cdi", amdSpec],
    ["cdi", { "/var/run/cdi/x.yaml": "kind: amd.com/gpu\n" }],
    // Nobody launches by the names of such a specification.
    [null, { "/var/run/cdi/x.yaml": "kind: rocm.com/gpu\n" }],
    ["legacy", { "/usr/bin/amd-container-runtime": "" }],
    ["legacy", { "/etc/docker/daemon.json": '{"runtimes":{"amd":{"path":"amd-container-runtime"}}}' }],
    ["none", { "/usr/bin/docker": "", "/etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n" }],
    [null, {}],
  ])("get AMD GPUs by %s", async (way, files) => {
    const { runtime } = await probed({ files: { ...two, ...files }, devices: devices(2) });
    expect(runtime.amd).toBe(way);
  });

  it("are not asked about a vendor that is not there", async () => {
    expect((await probed({ files: amdSpec })).runtime).toEqual({ nvidia: null });
  });
});

describe("facts by hand", () => {
  const read = (more: object) =>
    parseHostFacts(JSON.stringify({ schemaVersion: 1, platform: "linux/amd64", ...more }), "f");

  it("are unknown where they are left out", () => {
    expect(read({}).amd).toBeUndefined();
    expect(read({ amd: null }).amd).toBeNull();
    expect(read({ amd: {} }).amd).toEqual({ driver: null, gpus: [], unknown: ["driver", "gpus"] });
    expect(read({ amd: { gpus: [{ index: 0, target: "gfx90a" }] } }).amd?.gpus[0]).toMatchObject({
      target: "gfx90a",
      sramecc: null,
      integrated: null,
    });
  });

  it.each([
    [{ target: "gfx11-generic" }, /amd\.gpus\[0\]\.target/],
    [{ target: "sm_90" }, /amd\.gpus\[0\]\.target/],
    [{ partition: "XPX" }, /amd\.gpus\[0\]\.partition/],
    [{ render: "/dev/dri/../sda" }, /amd\.gpus\[0\]\.render/],
    [{ compute: "9.0" }, /amd\.gpus\[0\]\.compute: nobody knows this key/],
  ])("refuse %j", (gpu, message) => {
    expect(() => read({ amd: { gpus: [{ index: 0, ...gpu }] } })).toThrow(message);
  });

  it("come back as they were written", async () => {
    const facts = await probed({ files: two, devices: devices(2) });
    const text = formatHostFacts(facts);
    expect(parseHostFacts(text, "f")).toEqual(facts);
    const keys = [...text.matchAll(/^ {8}"(\w+)"/gm)].slice(0, 11).map(([, key]) => key);
    expect(keys).toEqual(
      "index uuid name target sramecc pci bus render memoryMiB partition integrated".split(" "),
    );
  });
});

describe("hostile content", () => {
  it("gives facts, and no other than facts", async () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.constantFrom(
        "simd_count 99999999999999999999\nvendor_id 4098\nunique_id 99999999999999999999\ndevice_id 99999999999\n",
        "simd_count 1\nvendor_id 4098\nlocation_id 18446744073709551615\ndomain 18446744073709551615\ndrm_render_minor 99999999\n",
        `simd_count 1\nvendor_id 4098\ngfx_target_version 1${"0".repeat(19)}\n`,
        "x 1\n".repeat(100_000),
      ),
    );
    const names = ["properties", "mem_banks/0/properties", "gpu_id", "name"];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), hostile, hostile, async (name, first, second) => {
        const facts = await probed({
          files: {
            ...two,
            [`/sys/class/kfd/kfd/topology/nodes/1/${name}`]: first,
            "/sys/module/amdgpu/version": second,
            "/sys/class/drm/renderD129/device/product_name": second,
            "/sys/class/drm/renderD129/device/mem_info_vram_total": first,
          },
          links: { "/sys/class/drm/renderD129/device": second },
          devices: devices(2),
        });
        expect(parseHostFacts(formatHostFacts(facts), "f")).toEqual(facts);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
        expect(describeHostFacts(facts).join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
      }),
      { numRuns: 300 },
    );
  });

  it("reads no more nodes than a machine can have, and none with another name", () => {
    let read = 0;
    const io = {
      ...amdHost({}),
      list: (path: string) =>
        path.endsWith("/nodes")
          ? ["x", "../1", ...Array.from({ length: 90_000 }, (_, index) => `${index}`)]
          : [],
      readText: (path: string) => {
        read++;
        return path.includes("..") ? "simd_count 1\nvendor_id 4098\n" : denied;
      },
    };
    expect(readKfd(io)).toEqual({ gpus: [], masked: 1024 });
    expect(read).toBe(1024);
  });

  it("reads a part of a file that has no end, and nothing of what is no file", () => {
    const folder = makeFolder({ "sub/inside": "x", long: "x".repeat(1000) });
    const io = nodeHostIo({});
    symlinkSync("/dev/zero", join(folder, "endless"));
    expect(io.readText(join(folder, "endless"), 100)).toBeNull();
    expect(io.readText(join(folder, "sub"), 100)).toBeNull();
    expect(io.readText(join(folder, "absent"), 100)).toBeNull();
    expect(io.readText(join(folder, "long"), 100)).toBe("x".repeat(100));
    expect(io.readText(join(folder, "long"), 5000)).toBe("x".repeat(1000));
  });
});
