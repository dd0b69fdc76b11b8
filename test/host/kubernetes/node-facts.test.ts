import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { findMarch, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { describeHostFacts } from "../../../src/cli/probe-lines.ts";
import { formatHostFacts } from "../../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { probe } from "../../../src/index.ts";
import { readHost } from "../../support/read-hosts.ts";
import { explainResolution } from "../../../src/node/explain.ts";
import { checkFit } from "../../../src/resolve/check-fit.ts";
import { levelV3 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";

type Labels = Record<string, string>;

/** As NFD and GFD write them on a node of this kind. */
function cpuid(names: string, model?: readonly [string, number, number]): Labels {
  const flags = names.split(" ").map((name) => [`feature.node.kubernetes.io/cpu-cpuid.${name}`, "true"]);
  const identity =
    model === undefined
      ? []
      : [
          ["feature.node.kubernetes.io/cpu-model.vendor_id", model[0]],
          ["feature.node.kubernetes.io/cpu-model.family", String(model[1])],
          ["feature.node.kubernetes.io/cpu-model.id", String(model[2])],
        ];
  return Object.fromEntries([...flags, ...identity]);
}

const amd64 = { "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux" };
const broadwell = "ADX AESNI AVX AVX2 FMA3 VMX";
const pci = { "feature.node.kubernetes.io/pci-0300_1d0f.present": "true" };

const a100 = {
  "nvidia.com/cuda.driver-version.full": "535.104.05",
  "nvidia.com/cuda.driver-version.major": "535",
  "nvidia.com/cuda.runtime-version.full": "12.2",
  "nvidia.com/cuda.runtime-version.major": "12",
  "nvidia.com/cuda.runtime-version.minor": "2",
  "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
  "nvidia.com/gpu.count": "2",
  "nvidia.com/gpu.memory": "81920",
  "nvidia.com/gpu.compute.major": "8",
  "nvidia.com/gpu.compute.minor": "0",
};

const read = (value: unknown) => readHost(JSON.stringify(value), "node.json");

/** So that the CPU is no reason. */
const allFeatures = (host: HostFacts): HostFacts => ({ ...host, cpu: { ...host.cpu, features: levelV3 } });

function imageOf(march: string) {
  const found = findMarch(march);
  if (found === null) throw new Error(march);
  return image({ requires: { cpu: { march, features: marchFeatures(found) }, cuda: null } });
}

it("takes a vendor by the name of something every object has for a name", async () => {
  const labels = {
    "feature.node.kubernetes.io/cpu-model.vendor_id": "constructor",
    "feature.node.kubernetes.io/cpu-model.family": "6",
    "feature.node.kubernetes.io/cpu-model.id": "143",
    "kubernetes.io/arch": "amd64",
  };
  expect((await readHost(JSON.stringify(labels), "node.json")).cpu.vendor).toBe("constructor");
});

describe("a node of a machine type that the catalogue has", () => {
  const nodeOf = (type: string, labels: Labels = {}) =>
    read({
      kind: "Node",
      metadata: { name: "n", labels: { ...amd64, "node.kubernetes.io/instance-type": type, ...labels } },
      status: { capacity: { memory: "1900Gi" } },
    });

  it("has what no label names from there, and says so", async () => {
    const facts = await nodeOf("Standard_ND96isr_MI300X_v5");
    expect([facts.cpu.level, facts.cpu.unknown, facts.nvidia]).toEqual(["x86-64-v4", undefined, null]);
    expect(facts.amd?.gpus.map(({ target, memoryMiB }) => [target, memoryMiB])).toEqual(
      Array.from({ length: 8 }, () => ["gfx942", null]),
    );
    expect(facts.amd?.unknown).toEqual(["driver"]);
    const from = "the catalogue's Standard_ND96isr_MI300X_v5";
    expect(facts.sources).toEqual({ "cpu.features": from, "amd.gpus": from });
    const kind =
      "lscpu of Standard_M128-64bds_v3 (Intel(R) Xeon(R) Platinum 8473C): Intel Xeon (Sapphire Rapids) is of its kind";
    expect(facts.problems.map(({ message }) => message)).toEqual([
      `no label names CPU features: they are those of the machine type Standard_ND96isr_MI300X_v5 (${kind})`,
      "no label names AMD GPUs: they are those of the machine type Standard_ND96isr_MI300X_v5",
    ]);
  });

  it("has what every CPU of its vendor has, where nobody captured the CPU", async () => {
    const { cpu, nvidia } = await nodeOf("p5e.48xlarge");
    expect([cpu.level, nvidia?.gpus.length]).toEqual(["x86-64-v3", 8]);
    expect(cpu.unknown).toContain("avx512f");
    expect(checkFit(imageOf("x86-64-v3"), await nodeOf("p5e.48xlarge"))).toMatchObject({ ok: true });
  });

  it("keeps what labels name, and what they leave open on purpose", async () => {
    const labelled = await nodeOf("p5.48xlarge", { ...cpuid(broadwell), ...a100 });
    expect(labelled.sources).toEqual({
      "cpu.features": "node labels",
      "nvidia.driver": "node labels",
      "nvidia.gpus": "node labels",
    });
    expect(labelled.problems.filter(({ message }) => message.includes("machine type"))).toEqual([]);
    const mig = await nodeOf("p5.48xlarge", { "nvidia.com/gpu.product": "NVIDIA-H100-MIG-INVALID" });
    expect(mig.nvidia?.gpus).toEqual([]);
    const foreign = await nodeOf("m5.large");
    expect([foreign.cpu.features, foreign.nvidia]).toEqual([null, undefined]);
  });
});

describe("CPU features", () => {
  it("are the Linux names of the labels", async () => {
    const { cpu } = await read({ ...amd64, ...cpuid("AVX512VNNI SHA AESNI SSE42 LZCNT") });
    expect(cpu.features).toEqual(expect.arrayContaining(["avx512_vnni", "sha_ni", "aes", "sse4_2", "abm"]));
  });

  it("without a label are unknown where the default configuration never labels them", async () => {
    const { cpu, problems } = await read({ ...amd64, ...cpuid(broadwell) });
    expect(cpu.unknown).toEqual(expect.arrayContaining(["sse4_2", "popcnt", "bmi1", "abm", "movbe", "clwb"]));
    expect(cpu.features).not.toContain("sse4_2");
    expect(problems.find(({ message }) => message.includes("sse4_2"))?.code).toBe("HOST_LABELS_INCOMPLETE");
  });

  it("that no label could name are proved by the node alone", async () => {
    const open = async (labels: Record<string, string>) =>
      (await read(labels)).problems.find(({ message }) => message.includes("cannot be proved"));
    expect((await open({ ...amd64, ...cpuid(broadwell) }))?.fix).toContain("attributeBlacklist");
    const levels = cpuid(`${broadwell} X86_64_V3 CLMUL RDRAND RDSEED`);
    expect((await open({ ...amd64, ...levels }))?.fix).not.toContain("attributeBlacklist");
  });

  it("without a label are absent where every release labels them", async () => {
    const { cpu } = await read({ ...amd64, ...cpuid(broadwell) });
    expect(cpu.unknown).not.toContain("avx512f");
    expect(cpu.features).not.toContain("avx512f");
    const verdict = checkFit(imageOf("x86-64-v4"), await read({ ...amd64, ...cpuid(broadwell) }));
    expect(verdict).toMatchObject({ ok: false, code: "CPU_FEATURES_MISSING" });
    expect("message" in verdict && verdict.message).toMatch(
      /avx512f.*does not show; .*bmi1.*cannot be proved/,
    );
  });

  it("that the labels leave open are not proved and not denied", async () => {
    const host = await read({ ...amd64, ...cpuid("AESNI AVX AVX2 FMA3") });
    const verdict = checkFit(imageOf("x86-64-v2"), host);
    expect(verdict).toMatchObject({ ok: false, code: "CPU_FEATURES_MISSING" });
    expect("message" in verdict && verdict.message).toMatch(/cannot be proved: these facts do not tell$/);
    expect("message" in verdict && verdict.message).not.toContain("does not have");
  });

  it("come with a level label", async () => {
    const host = await read({ ...amd64, ...cpuid("AVX X86_64_V1 X86_64_V2 X86_64_V3") });
    expect(host.cpu.level).toBe("x86-64-v3");
    expect(checkFit(imageOf("x86-64-v3"), host).ok).toBe(true);
  });

  it.each([
    ["Broadwell server", broadwell, ["Intel", 6, 79], "broadwell"],
    ["EPYC Rome", "ADX AESNI AVX AVX2 FMA3 SHA SSE4A CLZERO", ["AMD", 23, 49], "znver1"],
  ] as const)("come with family and model on bare metal: %s", async (_, names, model, march) => {
    const host = await read({ ...amd64, ...cpuid(names, model) });
    expect(checkFit(imageOf(march), host)).toMatchObject({ ok: true });
    expect(host.sources["cpu.features"]).toBe("node labels + family/model");
  });

  it("come with family and model in a virtual machine as far as the level, not further", async () => {
    const host = await read({ ...amd64, ...cpuid(`${broadwell} HYPERVISOR`, ["Intel", 6, 79]) });
    expect(host.cpu.level).toBe("x86-64-v3");
    expect(host.cpu.unknown).toContain("rdrand");
    expect(checkFit(imageOf("broadwell"), host).ok).toBe(false);
  });

  it("do not come with family and model when the machine hides what its model has", async () => {
    const host = await read({ ...amd64, ...cpuid("AESNI AVX AVX2", ["Intel", 6, 79]) });
    expect(host.cpu.unknown).toContain("sse4_2");
    expect(host.cpu.level).toBe("x86-64");
  });

  it("come with family and model without the one that the machine hides", async () => {
    const host = await read({ ...amd64, ...cpuid("AESNI AVX AVX2 FMA3", ["Intel", 6, 79]) });
    expect(host.cpu.level).toBe("x86-64-v3");
    expect(host.cpu.features).not.toContain("adx");
    expect(host.cpu.unknown).not.toContain("adx");
  });

  it("of a model shared by generations are those that all have", async () => {
    const names = "ADX AESNI AVX AVX2 AVX512BW AVX512CD AVX512DQ AVX512F AVX512VL FMA3";
    const host = await read({ ...amd64, ...cpuid(names, ["Intel", 6, 85]) });
    expect(host.cpu.level).toBe("x86-64-v4");
    expect(host.cpu.features).not.toContain("avx512_vnni");
    expect(checkFit(imageOf("cascadelake"), host).ok).toBe(false);
  });

  it("of Arm are the words of HWCAP", async () => {
    const host = await read({
      "kubernetes.io/arch": "arm64",
      ...cpuid("FP ASIMD AES PMULL SHA1 SHA2 CRC32 ATOMICS FPHP ASIMDHP ASIMDRDM DCPOP LRCPC ASIMDDP"),
    });
    expect(host.platform).toBe("linux/arm64");
    expect(host.cpu.features).toEqual(expect.arrayContaining(["atomics", "asimddp", "asimdrdm"]));
    expect(host.cpu.level).toBe("armv8.2-a");
    expect(host.cpu.unknown).toContain("bf16");
    expect(host.cpu.unknown).not.toContain("sve");
  });

  it("of POWER are the generations", async () => {
    const labels = cpuid("ALTIVEC ARCH_2_06 ARCH_2_07 ARCH_3_00 VSX");
    const { cpu } = await read({ "kubernetes.io/arch": "ppc64le", ...labels });
    expect(cpu).toMatchObject({ features: ["altivec", "power7", "power8", "power9"], level: "power9" });
  });

  it("are null without cpuid labels", async () => {
    const { cpu, problems } = await read(amd64);
    expect(cpu.features).toBeNull();
    expect(problems.map(({ message }) => message)).toContain("no label names CPU features");
  });
});

describe("GPUs", () => {
  it("are what GPU Feature Discovery says", async () => {
    const host = await read({ ...amd64, ...a100, ...cpuid("AVX2 X86_64_V2 X86_64_V3") });
    expect(host.nvidia).toMatchObject({ driver: "535.104.05", cuda: "12.2", module: null, library: null });
    expect(host.nvidia?.gpus.map(({ index, name, compute }) => [index, name, compute])).toEqual([
      [0, "NVIDIA A100-SXM4-80GB", "8.0"],
      [1, "NVIDIA A100-SXM4-80GB", "8.0"],
    ]);
    expect(host.nvidia?.gpus[0]).toMatchObject({ memoryMiB: 81920, class: "datacenter", uuid: null });
    const fits = gpuImage(cuda("12.4.1", ["sm_80"]), { digest: `sha256:${"b".repeat(64)}` });
    expect(checkFit(fits, host)).toMatchObject({ ok: true, tier: "minor" });
    expect(host.problems.map(({ message }) => message).join("\n")).toContain(
      "that all are alike is not proved",
    );
  });

  it.each([
    ["today", "nvidia.com/cuda.driver-version", "revision"],
    ["before GFD 0.15", "nvidia.com/cuda.driver", "rev"],
  ])("have a driver version in parts: %s", async (_, stem, third) => {
    const parts = { [`${stem}.major`]: "570", [`${stem}.minor`]: "124", [`${stem}.${third}`]: "06" };
    expect((await read({ ...amd64, ...parts })).nvidia?.driver).toBe("570.124.06");
    const two = { [`${stem}.major`]: "580", [`${stem}.minor`]: "142", [`${stem}.${third}`]: "" };
    expect((await read({ ...amd64, ...two })).nvidia?.driver).toBe("580.142");
  });

  it("have their compute capability from the product where it is not labelled", async () => {
    const host = await read({
      ...amd64,
      "nvidia.com/gpu.product": "Tesla-T4-SHARED",
      "nvidia.com/cuda.driver-version.full": "535.104.05",
    });
    expect(host.nvidia?.gpus).toMatchObject([{ name: "Tesla T4", compute: "7.5" }]);
  });

  it("in MIG mode are one of unknown number", async () => {
    const host = await read({
      ...amd64,
      ...a100,
      "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
      "nvidia.com/gpu.count": "14",
      "nvidia.com/mig.strategy": "single",
    });
    expect(host.nvidia?.gpus).toHaveLength(1);
    expect(host.nvidia?.gpus[0]?.compute).toBe("8.0");
    expect(host.problems.map(({ message }) => message).join("\n")).toContain("partitioned");
  });

  it("in MIG mode that is labelled invalid are unknown, whatever the PCI bus shows", async () => {
    const labels = {
      ...amd64,
      ...a100,
      "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-INVALID",
      "nvidia.com/gpu.count": "0",
    };
    const host = await read(labels);
    expect(host.nvidia).toMatchObject({ gpus: [], unknown: ["gpus"] });
    expect(host.problems.map(({ message }) => message).join("\n")).toContain("MIG-INVALID");
    for (const one of [image(), gpuImage(cuda("12.1.1", ["sm_80"]))])
      expect(checkFit(one, allFeatures(host), { gpuImages: ["nvidia"] })).toMatchObject({
        code: "FACT_UNKNOWN",
        message: expect.stringContaining("nvidia.gpus of this host"),
      });
  });

  it("without GPU Feature Discovery are a device whose driver is unknown", async () => {
    const host = await read({ ...amd64, "feature.node.kubernetes.io/pci-0302_10de.present": "true" });
    expect(host.nvidia).toMatchObject({ driver: null, gpus: [] });
    expect(host.problems.map(({ message }) => message).join("\n")).toContain("no driver is labelled");
    expect(describeHostFacts(host)).toEqual(
      expect.arrayContaining(["driver     unknown", "gpus       unknown", "containers unknown"]),
    );
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_90"])), allFeatures(host))).toMatchObject({
      code: "FACT_UNKNOWN",
      message: "needs to know nvidia.driver of this host: no label of this node tells it",
      fix: expect.stringContaining("run GPU Feature Discovery on the node, or"),
    });
    const lines = explainResolution(lockOf({ one: gpuImage(cuda("12.8.1", ["sm_90"])) }), host);
    expect(lines).toContain("      an NVIDIA device and no label that names its driver");
  });

  it("that no label names are not said to be absent", async () => {
    const host = await read(amd64);
    expect(host.nvidia).toBeUndefined();
    expect(describeHostFacts(host)).toContain("nvidia     unknown");
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_90"])), allFeatures(host))).toMatchObject({
      code: "FACT_UNKNOWN",
      message: "needs to know whether this host has an NVIDIA GPU: no label of this node tells it",
      fix: expect.stringContaining("run Node Feature Discovery on the node"),
    });
    const labels = JSON.stringify(amd64);
    const said = await probe({ host: "-", gpu: false }, { readStdin: () => Promise.resolve(labels) });
    expect(said.nvidia).toBeNull();
  });

  it("are none where Node Feature Discovery looked at the bus", async () => {
    const host = await read({ ...amd64, ...pci });
    expect(host.nvidia).toBeNull();
    expect(describeHostFacts(host)).toContain("nvidia     none labelled");
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_90"])), allFeatures(host)).ok).toBe(false);
    expect(checkFit(image(), allFeatures(host), { gpuImages: ["nvidia"] }).ok).toBe(true);
    expect(host.problems.filter(({ message }) => message.includes("GPU"))).toEqual([]);
  });
});

describe("a GPU of a facts file", () => {
  it("has the compute capability of its name, where the tables know it", async () => {
    const facts = (gpu: object) =>
      JSON.stringify({
        ...{ schemaVersion: 1, platform: "linux/amd64" },
        nvidia: { driver: "570.124.06", gpus: [{ index: 0, ...gpu }] },
      });
    const named = await readHost(facts({ name: "NVIDIA H100 80GB HBM3" }), "f.json");
    expect(named.nvidia?.gpus[0]).toMatchObject({ compute: "9.0", class: "datacenter" });
    expect((await readHost(facts({ name: "No Such GPU" }), "f.json")).nvidia?.gpus[0]?.compute).toBeNull();
    const told = await readHost(facts({ name: "NVIDIA H100 80GB HBM3", compute: "8.0" }), "f.json");
    expect(told.nvidia?.gpus[0]?.compute).toBe("8.0");
  });
});

describe("a node", () => {
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "gpu-1", labels: { "kubernetes.io/arch": "arm64", ...a100 } },
    status: {
      nodeInfo: { architecture: "amd64", operatingSystem: "linux", kernelVersion: "5.15.0-1034-aws" },
      capacity: { "nvidia.com/gpu": "4" },
    },
  };

  it("tells platform and kernel better than its labels", async () => {
    const host = await read(node);
    expect(host.platform).toBe("linux/amd64");
    expect(host.kernel).toBe("5.15.0");
  });

  it("may be the only one of a list", async () => {
    expect(await read({ kind: "List", items: [node] })).toEqual(await read(node));
    await expect(read({ kind: "List", items: [node, node] })).rejects.toThrow(/a list of 2 objects/);
  });

  it("needs labels", async () => {
    await expect(read({ kind: "Node", metadata: { name: "x" } })).rejects.toThrow(ImgmatchError);
  });

  it("becomes facts that are read back the same", async () => {
    const host = await read(node);
    expect(parseHostFacts(formatHostFacts(host), "facts.json")).toEqual(host);
    const withUnknown = await read({ ...amd64, ...cpuid(broadwell) });
    expect(parseHostFacts(formatHostFacts(withUnknown), "facts.json")).toEqual(withUnknown);
  });

  it("is not taken for one where the text is something else", async () => {
    await expect(read({ a: "b" })).rejects.toMatchObject({ code: "FACTS_SCHEMA" });
    await expect(readHost("{", "x")).rejects.toMatchObject({ code: "FACTS_SYNTAX" });
    await expect(read([])).rejects.toMatchObject({ code: "FACTS_SCHEMA" });
  });
});

describe("AMD GPUs", () => {
  const amdOf = async (labels: Labels, capacity?: Labels) => {
    const node = { kind: "Node", metadata: { labels: { ...amd64, ...labels } }, status: { capacity } };
    const { amd, problems } = await read(node);
    const said = problems
      .map(({ message }) => message)
      .filter((message) => / AMD |1002|how many/.test(message));
    return { amd, said };
  };
  const targets = ({ amd }: Pick<HostFacts, "amd">) =>
    amd?.gpus.map(({ pci, target, partition }) => [pci, target, partition].join(" "));
  const version = { "amd.com/gpu.driver-version": "6.14.14" };

  it.each<[string, Labels, Labels, string[]]>([
    [
      "one id for all, counted by the device plugin",
      { "amd.com/gpu.device-id": "74a1" },
      { "amd.com/gpu": "8" },
      Array(8).fill("1002:74a1 gfx942 "),
    ],
    [
      "several ids",
      { "amd.com/gpu.device-id.74a1": "1", "amd.com/gpu.device-id.744c": "2" },
      { "amd.com/gpu": "3" },
      ["1002:744c gfx1100 ", "1002:744c gfx1100 ", "1002:74a1 gfx942 "],
    ],
    [
      "the labels of before",
      { "beta.amd.com/gpu.device-id": "740f", "beta.amd.com/gpu.device-id.740f": "2" },
      {},
      ["1002:740f gfx90a ", "1002:740f gfx90a "],
    ],
    ["the id of a guest", { "amd.com/gpu.device-id": "74b5" }, { "amd.com/gpu": "1" }, ["1002:74b5 gfx942 "]],
    [
      "partitions, by whatever name",
      {
        "amd.com/gpu.device-id": "74a1",
        "beta.amd.com/gpu.device-id.74a1": "1",
        "amd.com/gpu.compute-memory-partition": "cpx_nps4",
      },
      { "amd.com/cpx_nps4": "8", "nvidia.com/gpu": "0" },
      Array(8).fill("1002:74a1 gfx942 CPX"),
    ],
  ])("are read from %s", async (_what, labels, capacity, expected) => {
    const found = await amdOf({ ...version, ...labels }, capacity);
    expect(targets(found)).toEqual(expected);
    expect(found.said).toEqual([]);
    expect(found.amd).toMatchObject({ driver: "6.14.14" });
    expect(found.amd).not.toHaveProperty("unknown");
  });

  it("are unknown, with the reason, where the labels leave them open", async () => {
    const nothing = { driver: null, gpus: [], unknown: ["driver", "gpus"] };
    const there = { "feature.node.kubernetes.io/pci-1200_1002.present": "true" };
    for (const [labels, capacity] of [
      [there, {}],
      [{ "feature.node.kubernetes.io/amd-vgpu": "true" }, {}],
      [{}, { "amd.com/gpu": "8" }],
      [{ "amd.com/gpu.device-id": "constructor", "amd.com/gpu.device-id.x": "1" }, { "amd.com/gpu": "8" }],
    ] as const)
      expect(await amdOf(labels, capacity)).toEqual({
        amd: nothing,
        said: [expect.stringContaining("no label names its device")],
      });
    const strange = await amdOf({ "amd.com/gpu.device-id": "ffff" });
    expect(strange.amd).toMatchObject({ gpus: [{ pci: "1002:ffff", target: null }], unknown: ["driver"] });
    expect(strange.said.join()).toMatch(/how many GPUs.*no table has the device 1002:ffff.*/);
  });

  it("have no driver's version where the kernel brings the driver", async () => {
    const { amd } = await amdOf({ "amd.com/gpu.device-id": "744c", "amd.com/gpu.driver-version": "" });
    expect(amd).toMatchObject({ driver: null, gpus: [{ name: null, target: "gfx1100" }] });
    expect(amd).not.toHaveProperty("unknown");
  });

  it("are absent where labels name PCI devices, and nobody has said anything where they do not", async () => {
    expect((await amdOf(pci)).amd).toBeNull();
    expect((await amdOf({})).amd).toBeUndefined();
    expect((await read({ "amd.com/gpu.device-id": "74a1" })).amd).toMatchObject({
      gpus: [{ target: "gfx942" }],
    });
  });
});

describe("whatever the labels say", () => {
  const keys = [
    ...Object.keys(a100),
    "amd.com/gpu.device-id",
    "amd.com/gpu.device-id.74a1",
    "amd.com/gpu.driver-version",
    "amd.com/gpu.compute-memory-partition",
    ...Object.keys({ ...amd64, ...pci, ...cpuid(broadwell, ["Intel", 6, 79]) }),
    "feature.node.kubernetes.io/kernel-version.full",
    "nvidia.com/cuda.driver.major",
    "nvidia.com/cuda.driver.minor",
    "nvidia.com/cuda.driver.rev",
    "nvidia.com/gpu.present",
  ];
  const value = fc.oneof(
    fc.constantFrom("true", "false", "", "0", "9", "535", "999999999999", "amd64", "arm64", "-", "1.2.3.4.5"),
    fc.constantFrom("74a1", "cpx_nps4", "6.14.14"),
    fc.string({ maxLength: 20 }),
    fc.nat().map(String),
  );

  it("the facts are facts, and unknown is neither present nor absent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom(...keys), value), async (labels) => {
        const facts = await read({ ...labels, "kubernetes.io/hostname": "n" });
        expect(parseHostFacts(formatHostFacts(facts), "facts.json")).toEqual(facts);
        const both = facts.cpu.unknown?.filter((feature) => facts.cpu.features?.includes(feature));
        expect(both ?? []).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });

  it("another cpuid label never takes a feature away", async () => {
    const names = [
      ..."ADX AESNI AVX AVX2 FMA3 SSE42 POPCNT X86_64_V2 X86_64_V3 AVX512F HYPERVISOR".split(" "),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(names, { minLength: 1 }),
        fc.constantFrom(...names.filter((name) => name !== "HYPERVISOR")),
        async (some, more) => {
          const model = ["Intel", 6, 79] as const;
          const less = await read({ ...amd64, ...cpuid(some.join(" "), model) });
          const added = await read({ ...amd64, ...cpuid([...some, more].join(" "), model) });
          const lost = less.cpu.features?.filter((feature) => !added.cpu.features?.includes(feature));
          expect(lost).toEqual([]);
        },
      ),
      { numRuns: 500 },
    );
  });
});
