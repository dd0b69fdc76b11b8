import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { formatHostFacts } from "../../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { readHost } from "../../support/read-hosts.ts";
import { readHosts } from "../../support/read-hosts.ts";
import { nodeLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { checkFit } from "../../../src/resolve/check-fit.ts";
import { cuda, gpuImage } from "../../resolve/support/locks.ts";
import { findMarch } from "../../../src/hardware/cpu-marches.ts";

const levelV3 = [...(findMarch("x86-64-v3")?.features ?? [])].sort();

type Texts = Record<string, string>;

const arch = { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" };
const node = (labels: Texts = {}, annotations: Texts = {}, name = "n1") => ({
  ...{ apiVersion: "v1", kind: "Node", metadata: { name, labels: { ...arch, ...labels }, annotations } },
  status: {
    nodeInfo: { architecture: "amd64", operatingSystem: "linux", kernelVersion: "6.8.0-45-generic" },
  },
});

interface Device {
  readonly name: string;
  readonly attributes: Record<string, object>;
  readonly capacity?: object;
}

function slice(driver: string, devices: readonly Device[], pool: object = {}, nodeName = "n1") {
  const whole = { name: nodeName, generation: 1, resourceSliceCount: 1, ...pool };
  return {
    ...{
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: `${nodeName}-${driver}-x` },
    },
    spec: { driver, nodeName, pool: whole, devices },
  };
}

/** As dra-driver-nvidia-gpu writes it (cmd/gpu-kubelet-plugin/deviceinfo.go), semantic versions and all. */
function nvidiaAttributes(productName: string, compute: string, driver: string) {
  return {
    architecture: { string: "Hopper" },
    brand: { string: "Nvidia" },
    cudaComputeCapability: { version: compute },
    cudaDriverVersion: { version: "12.8.0" },
    driverVersion: { version: driver },
    productName: { string: productName },
    "resource.kubernetes.io/pciBusID": { string: "0000:65:00.0" },
  };
}
const h100 = (minor: number, driver = "570.124.6"): Device => ({
  name: `gpu-${minor}`,
  attributes: {
    ...nvidiaAttributes("NVIDIA H100 80GB HBM3", "9.0.0", driver),
    ...{ type: { string: "gpu" }, uuid: { string: `GPU-0000000${minor}` } },
  },
  capacity: { memory: { value: "81559Mi" } },
});
const mig = (profile: string, uuid?: string): Device => ({
  name: `gpu-0-mig-${profile.replace(".", "")}-${uuid ?? "9-0"}`,
  attributes: {
    ...nvidiaAttributes("NVIDIA A100-SXM4-80GB", "8.0.0", "580.142.0"),
    ...{ type: { string: "mig" }, parentUUID: { string: "GPU-p" }, profile: { string: profile } },
    ...(uuid === undefined ? {} : { uuid: { string: uuid } }),
  },
  capacity: { memory: { value: "9728Mi" }, multiprocessors: { value: "14" } },
});
const nvidia = (devices: readonly Device[], pool: object = {}) => slice("gpu.nvidia.com", devices, pool);
const amd = (devices: readonly Device[]) => slice("gpu.amd.com", devices);

const list = (...items: object[]) => ({ apiVersion: "v1", kind: "List", items });
const read = (...items: object[]) => readHost(JSON.stringify(list(...items)), "nodes.json");
const codes = ({ problems }: HostFacts) => problems.map(({ code }) => code);
const disagreements = ({ problems }: HostFacts) =>
  problems.filter(({ code }) => code === "HOST_SOURCES_DISAGREE").map(({ message }) => message);
const open = ({ problems }: HostFacts) => problems.map(({ message }) => message).join("\n");

describe("NVIDIA's ResourceSlices", () => {
  it("are GPUs, driver and CUDA without GPU Feature Discovery", async () => {
    const host = await read(node(), nvidia([h100(10), h100(9)]));
    expect(host.nvidia).toMatchObject({ driver: "570.124.06", cuda: "12.8", module: null, library: null });
    expect(host.nvidia?.unknown).toBeUndefined();
    expect(host.nvidia?.gpus.map(({ index, uuid }) => [index, uuid])).toEqual([
      [0, "GPU-00000009"],
      [1, "GPU-000000010"],
    ]);
    expect(host.nvidia?.gpus[0]).toMatchObject({
      ...{ name: "NVIDIA H100 80GB HBM3", compute: "9.0", class: "datacenter", memoryMiB: 81559 },
      ...{ bus: "00000000:65:00.0", mig: null },
    });
    expect(host.sources).toMatchObject({
      "nvidia.driver": "ResourceSlices",
      "nvidia.gpus": "ResourceSlices",
    });
    expect(open(host)).not.toMatch(/all are alike|GPU Feature Discovery/);
    const fits = gpuImage(cuda("12.8.1", ["sm_90"]), { digest: `sha256:${"b".repeat(64)}` });
    expect(checkFit(fits, { ...host, cpu: { ...host.cpu, features: levelV3 } }).ok).toBe(true);
  });

  it("tell no higher CUDA version than the branch of their driver offers", async () => {
    const { nvidia: side } = await read(node(), nvidia([h100(0, "535.183.1")]));
    expect(side).toMatchObject({ driver: "535.183.01", cuda: "12.2" });
  });

  it("have MIG instances as parts of their card, and none that could be", async () => {
    const fixed = await read(node(), nvidia([mig("1g.10gb", "MIG-a"), mig("2g.20gb", "MIG-b")]));
    expect(fixed.nvidia).toMatchObject({ driver: "580.142" });
    expect(fixed.nvidia?.gpus).toMatchObject([
      {
        ...{ uuid: "GPU-p", compute: "8.0", memoryMiB: null },
        mig: [
          { uuid: "MIG-a", profile: "1g.10gb" },
          { uuid: "MIG-b", profile: "2g.20gb" },
        ],
      },
    ]);
    const onDemand = await read(node(), nvidia([mig("1g.10gb")]));
    expect(onDemand.nvidia?.gpus).toMatchObject([{ uuid: "GPU-p", compute: "8.0" }]);
    expect(onDemand.nvidia?.gpus[0]).not.toHaveProperty("mig");
    expect(open(onDemand)).toContain("partitioned on demand");
  });

  it("leave out a GPU that is for virtual machines", async () => {
    const vfio = { name: "gpu-vfio-0", attributes: { type: { string: "vfio" }, uuid: { string: "GPU-v" } } };
    expect((await read(node(), nvidia([h100(0), vfio]))).nvidia?.gpus).toHaveLength(1);
    const none = await read(node(), nvidia([vfio]));
    expect(none.nvidia).toMatchObject({ gpus: [], unknown: ["driver", "gpus"] });
    expect(open(none)).toContain("list no GPU for containers");
  });

  it("have the form of v1beta1, and names with the driver's domain", async () => {
    const { name, attributes, capacity } = h100(0);
    const whole = Object.fromEntries(
      Object.entries(attributes).map(([key, value]) => [
        key.includes("/") ? key : `gpu.nvidia.com/${key}`,
        value,
      ]),
    );
    const old = { name, basic: { attributes: whole, capacity } } as unknown as Device;
    expect((await read(node(), nvidia([old]))).nvidia).toEqual(
      (await read(node(), nvidia([h100(0)]))).nvidia,
    );
  });

  it("that name two drivers do not say which one there is", async () => {
    const host = await read(node(), nvidia([h100(0), h100(1, "580.95.5")]));
    expect(host.nvidia).toMatchObject({ driver: null, unknown: ["driver"] });
    expect(open(host)).toContain("several drivers: 570.124.06, 580.95.05");
  });
});

describe("a pool", () => {
  it("is the slices of its newest generation", async () => {
    const older = nvidia([h100(0, "550.54.15"), h100(7)], { generation: 3 });
    for (const items of [[older], [] as object[]])
      for (const newer of [
        [...items, nvidia([h100(0)], { generation: 4 })],
        [nvidia([h100(0)], { generation: 4 }), ...items],
      ])
        expect((await read(node(), ...newer)).nvidia).toMatchObject({
          driver: "570.124.06",
          gpus: [{ index: 0 }],
        });
  });

  it.each([
    ["a slice is missing", [nvidia([h100(0)], { resourceSliceCount: 2 })]],
    ["there is one too many", [nvidia([h100(0)]), nvidia([h100(1)])]],
    ["two devices have one name", [nvidia([h100(0), h100(0)])]],
    ["it has more devices than the API takes", [nvidia(Array.from({ length: 129 }, (_, at) => h100(at)))]],
    ["its devices are none", [{ ...nvidia([]), spec: { ...nvidia([]).spec, devices: "all" } }]],
  ])("does not tell the GPUs where %s", async (_, slices) => {
    const host = await read(node(), ...slices);
    expect(host.nvidia).toMatchObject({ gpus: [], unknown: expect.arrayContaining(["gpus"]) });
    expect(open(host)).toContain("ResourceSlices of the node are missing, or are not whole");
  });

  it("is whole with slices for each GPU and one of counters", async () => {
    const three = { resourceSliceCount: 3 };
    const host = await read(node(), nvidia([], three), nvidia([h100(0)], three), nvidia([h100(1)], three));
    expect(host.nvidia?.gpus).toHaveLength(2);
  });
});

describe("AMD's ResourceSlices", () => {
  /** As the driver's 1.0 writes it (docs/driver-attributes.md). */
  const mi300x = (name: string, more: Record<string, object> = {}): Device => ({
    name,
    attributes: {
      ...{ type: { string: "amdgpu" }, deviceID: { string: "0x74a1" }, numaNode: { int: 0 } },
      ...{ productName: { string: "AMD_Instinct_MI300X_OAM" }, driverVersion: { version: "6.12.12" } },
      ...{ partitionProfile: { string: "spx_nps1" } },
      "resource.kubernetes.io/pciBusID": { string: "0000:83:00.0" },
      ...more,
    },
    capacity: { memory: { value: "196592Mi" }, computeUnits: { value: "304" } },
  });

  it("are GPUs with the target of their device id", async () => {
    const host = await read(node(), amd([mi300x("gpu-1-129"), mi300x("gpu-0-128")]));
    expect(host.amd).toMatchObject({ driver: "6.12.12", gpus: [{ index: 0 }, { index: 1 }] });
    expect(host.amd?.gpus[0]).toMatchObject({
      ...{ name: "AMD Instinct MI300X", target: "gfx942", pci: "1002:74a1", bus: "0000:83:00.0" },
      ...{ partition: "SPX", memoryMiB: 196592, integrated: false, uuid: null },
    });
    expect(host.nvidia).toBeUndefined();
  });

  it("before 1.0 had the card's number for its device id: the product's name decides", async () => {
    const old = mi300x("gpu-0-128", {
      deviceID: { string: "994913940318892495" },
      renderIndex: { int: 168 },
    });
    const { amd: found } = await read(node(), amd([old]));
    expect(found?.gpus).toMatchObject([
      { uuid: "GPU-0dcea4f51acab1cf", target: "gfx942", pci: null, render: "/dev/dri/renderD168" },
    ]);
  });

  it("have each partition as a GPU, and one GPU for all the ways to divide it", async () => {
    const part = { type: { string: "amdgpu-partition" }, partitionProfile: { string: "cpx_nps4" } };
    const fixed = await read(node(), amd([mi300x("gpu-0-128", part), mi300x("gpu-1-129", part)]));
    expect(fixed.amd?.gpus.map(({ partition }) => partition)).toEqual(["CPX", "CPX"]);
    const way = (gpuIndex: number, mode: string) =>
      mi300x(`gpu-${gpuIndex}-${mode}-nps1`, {
        computePartition: { string: mode },
        gpuIndex: { int: gpuIndex },
      });
    const free = await read(node(), amd([way(0, "spx"), way(0, "cpx"), way(1, "spx"), way(1, "dpx")]));
    expect(free.amd?.gpus).toMatchObject([
      { target: "gfx942", partition: null, memoryMiB: null },
      { target: "gfx942", partition: null, memoryMiB: null },
    ]);
  });

  it("of a card that no table has leave its target open, and take 0 for no memory told", async () => {
    const unknown = { deviceID: { string: "0xfffe" }, productName: { string: "AMD_Instinct_MI999" } };
    const { capacity: _, ...device } = mi300x("gpu-0-128", unknown);
    const host = await read(node(), amd([{ ...device, capacity: { memory: { value: "0" } } }]));
    expect(host.amd?.gpus).toMatchObject([{ target: null, memoryMiB: null, name: "AMD Instinct MI999" }]);
    expect(open(host)).toContain("no ResourceSlice tells the target of an AMD GPU AMD Instinct MI999");
  });
});

describe("one stream", () => {
  const text = (...values: object[]) => values.map((value) => JSON.stringify(value)).join("\n");
  const gpus = async (input: string) =>
    (await readHosts(input, "all.json")).map(({ name, facts }) => [
      name,
      facts.nvidia?.gpus.length ?? facts.nvidia,
    ]);

  it("has nodes and what is said of them in any order, in one list or several", async () => {
    const [one, two] = [node(), node({}, {}, "n2")];
    const slices = [nvidia([h100(0)]), slice("gpu.nvidia.com", [h100(0), h100(1)], {}, "n2")];
    const expected = [
      ["n1", 1],
      ["n2", 2],
    ];
    expect(await gpus(text(list(one, two, ...slices)))).toEqual(expected);
    expect(await gpus(text(...slices, list(one, two)))).toEqual(expected);
    expect(await gpus(text([...slices, one, two]))).toEqual(expected);
    const raw = slices.map(({ spec, metadata }) => ({ spec, metadata }));
    expect(await gpus(text(list(one, two), { kind: "ResourceSliceList", items: raw }))).toEqual(expected);
  });

  it("may tell of nodes that nobody asks for, of other drivers, and of no node", async () => {
    const example = slice("gpu.example.com", [
      { name: "gpu-0", attributes: { uuid: { string: "gpu-x" }, driverVersion: { version: "1.0.0" } } },
    ]);
    const { nodeName: _, ...everywhere } = nvidia([h100(0)]).spec;
    const others = [
      slice("gpu.nvidia.com", [h100(0)], {}, "gone"),
      { kind: "ResourceSlice", spec: { ...everywhere, allNodes: true } },
    ];
    expect(await gpus(text(list(node(), example, ...others, { kind: "ResourceSlice" })))).toEqual([
      ["n1", undefined],
    ]);
    await expect(gpus(text(list(nvidia([h100(0)]))))).rejects.toThrow("there is no host in it");
  });
});

describe("sources that contradict each other", () => {
  const gfd = (driver: string, more: Texts = {}) => ({
    "nvidia.com/cuda.driver-version.full": driver,
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.count": "1",
    "nvidia.com/gpu.compute.major": "9",
    "nvidia.com/gpu.compute.minor": "0",
    ...more,
  });
  const machine = (driver: string, more: object = {}) => ({
    ...{ schemaVersion: 1, platform: "linux/amd64", kernel: "6.8.0" },
    cpu: { features: levelV3 },
    nvidia: { driver, module: "open", gpus: [{ index: 0, name: "NVIDIA H100 80GB HBM3", compute: "9.0" }] },
    ...more,
  });
  const annotated = (facts: object, labels: Texts = {}) =>
    node(labels, { "imgmatch.dev/facts": JSON.stringify(facts) });

  it("are labels and ResourceSlices: neither is believed, and both are named", async () => {
    const host = await read(node(gfd("550.54.15")), nvidia([h100(0)]));
    expect(host.nvidia).toMatchObject({
      driver: null,
      cuda: null,
      gpus: [{ compute: "9.0" }],
      unknown: ["driver"],
    });
    expect(disagreements(host)).toEqual([
      "NVIDIA driver: ResourceSlices say 570.124.06, node labels say 550.54.15",
    ]);
    const many = await read(node(gfd("570.124.06", { "nvidia.com/gpu.count": "8" })), nvidia([h100(0)]));
    expect(many.nvidia).toMatchObject({ driver: "570.124.06", gpus: [], unknown: ["gpus"] });
    expect(disagreements(many)).toEqual(["NVIDIA GPUs: ResourceSlices say 1 × 9.0, node labels say 8 × 9.0"]);
    const bus = await read(
      node({ "feature.node.kubernetes.io/pci-0300_1d0f.present": "true" }),
      nvidia([h100(0)]),
    );
    expect(disagreements(bus)).toHaveLength(2);
    expect(bus.nvidia).toMatchObject({ unknown: ["driver", "gpus"] });
  });

  it("are none where both say the same in other words", async () => {
    for (const driver of ["570.124.06", "570.124"]) {
      const host = await read(node(gfd(driver)), nvidia([h100(0)]));
      expect(disagreements(host)).toEqual([]);
      expect(host.nvidia).toMatchObject({ driver: "570.124.06", gpus: [{ uuid: "GPU-00000000" }] });
    }
    const shared = gfd("570.124.06", { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" });
    expect(disagreements(await read(node(shared), nvidia([h100(0), h100(1)])))).toEqual([]);
  });

  it("are the annotation and labels: the annotation stands, and the problem too", async () => {
    const exact = await read(annotated(machine("570.124.06"), gfd("570.124.06")));
    expect(exact).toMatchObject({
      cpu: { features: levelV3 },
      nvidia: { driver: "570.124.06", module: "open" },
    });
    expect(exact.problems).toEqual([]);
    const host = await read(annotated(machine("570.124.06"), gfd("550.54.15")));
    expect(host.nvidia).toMatchObject({ driver: "570.124.06", module: "open" });
    expect(disagreements(host)).toEqual([
      "NVIDIA driver: the annotation imgmatch.dev/facts say 570.124.06, node labels say 550.54.15",
    ]);
  });

  it("are none where a node does not name its architecture", async () => {
    const annotations = { "imgmatch.dev/facts": JSON.stringify(machine("570.124.06")) };
    const host = await read({ kind: "Node", metadata: { name: "n1", labels: {}, annotations } });
    expect(host).toMatchObject({ platform: "linux/amd64", problems: [] });
  });

  it("are the annotation and what is as exact: then nobody knows", async () => {
    const host = await read(
      annotated(machine("570.124.06", { kernel: "5.15.0" })),
      nvidia([h100(0, "580.95.5")]),
    );
    expect(host).toMatchObject({ kernel: null, nvidia: { driver: null, unknown: ["driver"] } });
    expect(disagreements(host)).toEqual([
      "kernel: the annotation imgmatch.dev/facts says 5.15.0, the node says 6.8.0",
      "NVIDIA driver: the annotation imgmatch.dev/facts say 570.124.06, ResourceSlices say 580.95.05",
    ]);
  });

  it("leave an annotation that is no facts aside, and say so", async () => {
    for (const facts of ["{", "7", '{"schemaVersion":1,"platform":7}'])
      expect(open(await read(node(gfd("570.124.06"), { "imgmatch.dev/facts": facts })))).toContain(
        "the annotation imgmatch.dev/facts is no facts: ",
      );
  });

  it("are labels that name CPU features which the annotation denies", async () => {
    const labels = { "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true" };
    expect(disagreements(await read(annotated(machine("570.124.06"), labels)))).toEqual([
      "CPU features: the annotation imgmatch.dev/facts lacks avx512f, node labels name them",
    ]);
  });
});

describe("imgmatch's own labels", () => {
  it("tell driver and GPUs as the facts from which they were written", async () => {
    const machines = readdirSync("test/fixtures/hosts").map((name) => ({
      name,
      facts: parseHostFacts(readFileSync(`test/fixtures/hosts/${name}/expected.json`, "utf8"), name),
    }));
    const known = machines.filter(
      ({ facts: { nvidia, problems } }) => nvidia != null && problems.length === 0,
    );
    expect(known.length).toBeGreaterThan(10);
    for (const { name, facts } of known) {
      const labels = Object.fromEntries(
        Object.entries(nodeLabels(facts)).map(([key, value]) => [`imgmatch.dev/${key}`, value]),
      );
      const host = await read(node(labels));
      const driver = facts.nvidia?.driver ?? null;
      expect([name, host.nvidia?.driver, host.nvidia?.gpus.map(({ compute }) => compute).sort()]).toEqual([
        name,
        driver,
        facts.nvidia?.gpus.map(({ compute }) => compute).sort(),
      ]);
      if (facts.platform === "linux/amd64")
        expect(facts.cpu.features).toEqual(expect.arrayContaining([...(host.cpu.features ?? [])]));
    }
  });

  it("that say that the GPUs are broken or unknown tell no more", async () => {
    for (const key of ["broken", "gpu.unknown"]) {
      const labels = {
        "imgmatch.dev/vocabulary": "1",
        "imgmatch.dev/gpu.count": "0",
        [`imgmatch.dev/${key}`]: "true",
      };
      expect((await read(node(labels))).nvidia).toBeUndefined();
    }
  });
});

describe("a NodeFeature object", () => {
  const feature = (cpuid: string, devices: readonly Texts[] = []) => ({
    ...{ apiVersion: "nfd.k8s-sigs.io/v1alpha1", kind: "NodeFeature" },
    metadata: { name: "n1", namespace: "nfd", labels: { "nfd.node.kubernetes.io/node-name": "n1" } },
    spec: {
      features: {
        flags: { "cpu.cpuid": { elements: Object.fromEntries(cpuid.split(" ").map((name) => [name, {}])) } },
        attributes: { "cpu.model": { elements: { vendor_id: "Intel", family: "6", id: "79" } } },
        instances: { "pci.device": { elements: devices.map((attributes) => ({ attributes })) } },
      },
    },
  });

  it("tells the CPU features that labels leave out", async () => {
    const { cpu } = await read(node(), feature("AVX2 FMA3 POPCNT SSE42 HYPERVISOR"));
    expect(cpu.features).toEqual(expect.arrayContaining(["popcnt", "sse4_2", "avx2"]));
    expect(cpu.features).not.toContain("bmi1");
    expect(cpu.unknown).not.toContain("bmi1");
    expect(cpu.unknown).toContain("movbe");
  });

  it("tells which GPUs are on the bus, and none of their driver", async () => {
    const devices = [
      { class: "0302", vendor: "10de", device: "2330" },
      { class: "1200", vendor: "1002", device: "74a1" },
      { class: "0680", vendor: "10de", device: "22a3" },
    ];
    const host = await read(node(), feature("AVX2", devices));
    expect(host.nvidia).toMatchObject({
      driver: null,
      gpus: [{ pci: "10de:2330", compute: "9.0" }],
      unknown: ["driver"],
    });
    expect(host.amd).toMatchObject({ gpus: [{ pci: "1002:74a1", target: "gfx942" }], unknown: ["driver"] });
    const none = await read(node(), feature("AVX2", [{ class: "0200", vendor: "8086", device: "1572" }]));
    expect([none.nvidia, none.amd]).toEqual([null, null]);
    const both = await read(node(), feature("AVX2", devices), nvidia([h100(0)]));
    expect(both.nvidia).toMatchObject({ driver: "570.124.06", gpus: [{ uuid: "GPU-00000000" }] });
    expect(codes(both)).not.toContain("HOST_SOURCES_DISAGREE");
  });
});

describe("whatever the objects hold", () => {
  const key = fc.constantFrom(
    "type",
    "uuid",
    "parentUUID",
    "profile",
    "productName",
    "driverVersion",
    "deviceID",
    "gpuIndex",
    "cudaComputeCapability",
    "computePartition",
    "partitionProfile",
    "resource.kubernetes.io/pciBusID",
    "__proto__",
  );
  const word = fc.constantFrom(
    "gpu",
    "mig",
    "amdgpu",
    "amdgpu-partition",
    "",
    "0x74a1",
    "9.0.0",
    "570.124.6",
    "spx_nps1",
    "\u001b[31m",
    "1".repeat(20),
  );
  const attribute = fc.record({ string: fc.oneof(word, fc.string()) });
  const device = fc.record({
    name: fc.oneof(fc.constantFrom("gpu-0", "gpu-1"), fc.string(), fc.integer()),
    attributes: fc.oneof(fc.dictionary(key, fc.oneof(attribute, fc.jsonValue())), fc.jsonValue()),
    capacity: fc.oneof(fc.constant({ memory: { value: "1e99" } }), fc.jsonValue()),
  });
  const slices = fc.array(
    fc.record({
      driver: fc.constantFrom("gpu.nvidia.com", "gpu.amd.com"),
      devices: fc.oneof(fc.array(device, { maxLength: 4 }), fc.jsonValue()),
      pool: fc.oneof(fc.constant({ generation: 1, resourceSliceCount: 1 }), fc.jsonValue()),
    }),
    { maxLength: 3 },
  );

  it("the facts are facts", async () => {
    await fc.assert(
      fc.asyncProperty(slices, fc.jsonValue(), async (specs, features) => {
        const objects = specs.map((spec) => ({ kind: "ResourceSlice", spec: { nodeName: "n1", ...spec } }));
        const labels = { "nfd.node.kubernetes.io/node-name": "n1" };
        const feature = { kind: "NodeFeature", metadata: { labels }, spec: { features } };
        const facts = await read(node(), ...objects, feature);
        expect(parseHostFacts(formatHostFacts(facts), "facts.json")).toEqual(facts);
      }),
      { numRuns: 500 },
    );
  });
});
