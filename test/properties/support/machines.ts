/** Random hosts and locks, drawn from few values so that most rules decide often. */

import fc from "fast-check";
import { compatModes } from "../../../src/facts/facts.ts";
import type { AmdGpuFacts, DriverScale, GpuFacts, HostFacts, HostProblem } from "../../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import {
  type CudaRequirement,
  type DriverRequirement,
  onPaths,
  type Requirement,
  type RocmRequirement,
} from "../../../src/lock/requirement.ts";
import { amdGpu, gpu } from "../../resolve/support/hosts.ts";
import { digest, lockOf } from "../../resolve/support/locks.ts";

const x86Features = ["avx", "avx2", "avx512f", "avx512vl", "fma", "pni", "popcnt", "avx_ifma"];

/** The first value nine times out of ten: the rules asked first would else hide the others. */
function mostly<T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
}

const products: readonly Partial<GpuFacts>[] = [
  { name: "Tesla K80", compute: "3.7", class: "datacenter" },
  { name: "Tesla V100-SXM2-32GB", compute: "7.0", class: "datacenter" },
  { name: "Tesla T4", compute: "7.5", class: "datacenter" },
  { name: "Quadro RTX 5000", compute: "7.5", class: "workstation" },
  { name: "NVIDIA A100-SXM4-80GB", compute: "8.0", class: "datacenter" },
  { name: "NVIDIA RTX A6000", compute: "8.6", class: "workstation" },
  { name: "NVIDIA GeForce RTX 3090", compute: "8.6", class: "geforce" },
  { name: "NVIDIA GeForce RTX 4090", compute: "8.9", class: "geforce" },
  { name: "NVIDIA H100 80GB HBM3", compute: "9.0", class: "datacenter" },
  { name: "NVIDIA B200", compute: "10.0", class: "datacenter" },
  { name: "NVIDIA B300 SXM6 AC", compute: "10.3", class: "datacenter" },
  { name: "NVIDIA GeForce RTX 5090", compute: "12.0", class: "geforce" },
  { name: "NVIDIA GB10", compute: "12.1", class: "workstation" },
  { name: "Graphics Device", compute: "8.0", class: "unknown" },
  { name: null, compute: null, class: "unknown" },
];
const jetsons: readonly Partial<GpuFacts>[] = [
  { name: "Orin (nvgpu)", compute: "8.7", class: "tegra", integrated: true },
  { name: "NVIDIA Thor", compute: "11.0", class: "tegra", integrated: true },
];

/** Driver and the CUDA version that it reports. R430 reports one of two, 540.4.0 is a Jetson number. */
const drivers: readonly (readonly [string, string])[] = [
  ["396.44", "9.2"],
  ["418.87.00", "10.1"],
  ["430.50", "10.1"],
  ["450.51.05", "11.0"],
  ["450.80.02", "11.0"],
  ["470.256.02", "11.4"],
  ["525.60.11", "12.0"],
  ["525.60.13", "12.0"],
  ["535.54.03", "12.2"],
  ["535.183.01", "12.2"],
  ["540.4.0", "12.6"],
  ["550.54.15", "12.4"],
  ["555.58.02", "12.5"],
  ["570.86.15", "12.8"],
  ["570.124.06", "12.8"],
  ["575.57.08", "12.9"],
  ["580.65.06", "13.0"],
  ["580.95.05", "13.0"],
  ["590.48.01", "13.1"],
  ["610.43.02", "13.3"],
  // No row of the tables.
  ["630.10", "13.7"],
];

const problems: readonly HostProblem[] = [
  {
    code: "HOST_DRIVER_LIBRARY_MISMATCH",
    message: "kernel module 580.95.05, library 580.178",
    fix: "reboot",
  },
  { code: "HOST_GPU_LOST", message: "GPU 1 fell off the bus" },
  { code: "HOST_NVML_FAILED", message: "NVML: Unknown Error" },
  { code: "HOST_SMI_TIMEOUT", message: "nvidia-smi did not answer in 5 s" },
  { code: "HOST_MIG_EMPTY", message: "MIG mode is on and no instance is there on GPU 0" },
  { code: "HOST_FABRIC_NOT_READY", message: "the NVSwitch fabric is not up for GPU 0" },
  { code: "HOST_NO_UVM", message: "this container has a GPU and no /dev/nvidia-uvm" },
  { code: "HOST_GPU_NOT_READY", message: "the compute mode of GPU 0 is Prohibited" },
  { code: "HOST_CONTAINER_WITHOUT_DEVICES", message: "no /dev/nvidiactl" },
];

/** The CPU and GPU dials turn together most of the time, as machines that nothing fits teach little. */
const features = fc.oneof(
  { weight: 6, arbitrary: fc.constant(x86Features.slice(0, 7)) },
  { weight: 2, arbitrary: fc.constant([...x86Features]) },
  { weight: 3, arbitrary: fc.subarray(x86Features) },
  { weight: 1, arbitrary: fc.constant(null) },
);

const desktopGpus = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(...products)
      .chain((one) => fc.array(fc.constant(one), { minLength: 1, maxLength: 3 })),
  },
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...products), { minLength: 1, maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant([]) },
);
const jetsonGpus = fc.constantFrom(...jetsons).map((one) => [one]);

/** No rule asks for these. */
const harmless = fc.record({
  computeMode: fc.constantFrom("default" as const, "exclusive" as const),
  mig: mostly<GpuFacts["mig"]>(null, [{ uuid: "MIG-1", profile: "3g.40gb" }]),
  use: fc.record({
    processes: fc.constantFrom(0, 1, 40, null),
    memoryMiB: fc.constantFrom(0, 81_000, null),
  }),
});

const nvidiaOf = (gpus: fc.Arbitrary<readonly Partial<GpuFacts>[]>) =>
  fc
    .record({
      gpus,
      driver: fc.constantFrom(...drivers),
      reports: fc.boolean(),
      driverless: fc.integer({ max: 19, min: 0 }).map((n) => n === 0),
      module: fc.constantFrom("proprietary", "proprietary", "open", null),
      states: fc.array(harmless, { minLength: 3, maxLength: 3 }),
    })
    .map(({ gpus: list, driver: [version, cuda], reports, driverless, module, states }) => ({
      driver: driverless ? null : version,
      module: driverless ? null : module,
      library: driverless ? null : version,
      cuda: reports && !driverless ? cuda : null,
      gpus: list.map((product, index) => gpu({ ...product, index, ...states[index] })),
    }));

const hosts = (nvidia: fc.Arbitrary<HostFacts["nvidia"]>, scale?: DriverScale): fc.Arbitrary<HostFacts> =>
  fc
    .record({
      platform: mostly("linux/amd64", "linux/arm64"),
      kernel: mostly<string | null>("6.8.0", "6.18.9", "5.10", "3.10.0", null),
      features,
      nvidia,
      runtime: fc.record(
        {
          nvidia: fc.constantFrom("cdi" as const, "cdi" as const, "legacy" as const, "none" as const, null),
          toolkit: fc.constantFrom("1.16.2", "1.17.4", "1.17.8", "1.18.1", "1.20.0"),
          compat: fc.constantFrom(...compatModes),
        },
        { requiredKeys: ["nvidia"] },
      ),
      broken: fc.oneof(
        { weight: 9, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.constantFrom(...problems).map((problem) => [problem]) },
      ),
    })
    .map(({ platform, kernel, features: present, nvidia: facts, runtime, broken }) => ({
      schemaVersion: 1 as const,
      platform,
      kernel,
      cpu: { vendor: null, model: null, features: present, level: present === null ? null : "x86-64-v3" },
      nvidia: facts == null || scale === undefined ? facts : { ...facts, driverScale: scale },
      runtime,
      problems: broken,
      sources: {},
    }));

const nvidiaHost: fc.Arbitrary<HostFacts> = fc.oneof(
  { weight: 12, arbitrary: hosts(nvidiaOf(desktopGpus)) },
  { weight: 1, arbitrary: hosts(nvidiaOf(jetsonGpus)) },
  { weight: 1, arbitrary: hosts(nvidiaOf(fc.oneof(jetsonGpus, fc.constant([]))), "l4t") },
  { weight: 1, arbitrary: hosts(nvidiaOf(desktopGpus), "wsl") },
  { weight: 1, arbitrary: hosts(fc.constant(null)) },
  { weight: 1, arbitrary: hosts(fc.constant(undefined)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(hosts(nvidiaOf(desktopGpus)), fc.subarray(["driver", "gpus"] as const))
      .map(([host, unknown]) => ({ ...host, nvidia: host.nvidia && { ...host.nvidia, unknown } })),
  },
);

const amdProducts: readonly Partial<AmdGpuFacts>[] = [
  { target: "gfx900", sramecc: false },
  { target: "gfx906", sramecc: true },
  { target: "gfx908", sramecc: null },
  { target: "gfx90a", sramecc: true, name: "AMD Instinct MI210" },
  { target: "gfx90a", sramecc: null },
  { target: "gfx942", sramecc: true, name: "AMD Instinct MI300X" },
  { target: "gfx942", sramecc: false },
  { target: "gfx950", sramecc: true },
  { target: "gfx1010", sramecc: false },
  { target: "gfx1030", sramecc: false },
  { target: "gfx1100", sramecc: false, integrated: null },
  { target: "gfx1201", sramecc: false },
  { target: "gfx1250", sramecc: true },
  { target: "gfx1999", sramecc: false },
  { target: null },
];
const processors: readonly Partial<AmdGpuFacts>[] = [
  { target: "gfx1036", sramecc: false, integrated: true },
  { target: "gfx1151", sramecc: false, integrated: true },
];

const amdGpus: fc.Arbitrary<readonly Partial<AmdGpuFacts>[]> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(...amdProducts)
      .chain((one) => fc.array(fc.constant(one), { minLength: 1, maxLength: 2 })),
  },
  {
    weight: 3,
    arbitrary: fc.array(fc.constantFrom(...amdProducts, ...processors), { minLength: 1, maxLength: 3 }),
  },
  { weight: 1, arbitrary: fc.constantFrom(...processors).map((one) => [one]) },
  { weight: 1, arbitrary: fc.constant([]) },
);

const amdProblems: readonly HostProblem[] = [
  {
    code: "HOST_AMD_GPU_SKIPPED",
    message: "amdgpu drives 1 AMD GPU, and its compute driver does not list it",
  },
  { code: "HOST_AMD_NO_DEVICES", message: "inside a container without /dev/kfd" },
  { code: "HOST_AMD_NO_DRIVER", message: "vfio-pci holds 1 AMD GPU (0000:83:00.0)" },
];

type AmdPart = Pick<HostFacts, "amd" | "problems" | "sources">;

/** With nodes of a driver, as the probe writes them; without one: from the PCI bus, or as somebody writes them by hand. */
const driven: fc.Arbitrary<AmdPart> = fc
  .record({
    gpus: amdGpus,
    driver: fc.constantFrom(null, null, "6.10.5", "6.16.13"),
    nodes: fc.constantFrom("render", "render", "render", "bus", "none"),
    problems: mostly<readonly HostProblem[]>([], ...amdProblems.map((problem) => [problem])),
    open: mostly<readonly ("driver" | "gpus")[]>([], ["driver"], ["gpus"]),
  })
  .map(({ gpus, driver, nodes, problems, open }) => ({
    amd: {
      driver: nodes === "render" ? driver : null,
      gpus: gpus.map((product, index) =>
        amdGpu({ ...product, index, render: nodes === "render" ? `/dev/dri/renderD${128 + index}` : null }),
      ),
      ...(open.length > 0 && { unknown: open }),
    },
    problems,
    sources: nodes === "bus" ? { "amd.gpus": "/sys/bus/pci/devices" } : {},
  }));

const amdPart: fc.Arbitrary<AmdPart> = fc.oneof(
  { weight: 5, arbitrary: driven },
  { weight: 3, arbitrary: fc.constant({ amd: null, problems: [], sources: {} }) },
  { weight: 2, arbitrary: fc.constant({ amd: undefined, problems: [], sources: {} }) },
);

/** Of GPUs of either vendor, both, none, or nobody knows. */
export const anyHost: fc.Arbitrary<HostFacts> = fc
  .tuple(nvidiaHost, amdPart)
  .map(([host, { amd, problems: others, sources }]) => ({
    ...host,
    ...(amd === undefined ? {} : { amd }),
    problems: [...host.problems, ...others],
    sources,
  }));

const targets = [
  "sm_37",
  "sm_70",
  "sm_75",
  "sm_80",
  "sm_86",
  "sm_87",
  "sm_89",
  "sm_90",
  "sm_90a",
  "sm_100",
  "sm_100a",
  "sm_100f",
  "sm_103",
  "sm_110",
  "sm_120",
  "sm_120f",
  "sm_121a",
  "compute_50",
  "compute_70",
  "compute_80",
  "compute_90",
  "compute_90a",
  "compute_100f",
  "compute_120",
];

/** Toolkit and the floor of its major, or its own minimum before CUDA 11. */
const toolkits: readonly (readonly [string, string])[] = [
  ["9.2.148", "396.37"],
  ["10.1.243", "418.39"],
  ["10.2.89", "440.33"],
  ["11.8.0", "450.80.02"],
  ["12.4.1", "525.60.13"],
  ["12.6.3", "525.60.13"],
  ["12.8.1", "525.60.13"],
  ["12.9.1", "525.60.13"],
  ["13.0.2", "580.65.06"],
  ["13.3.0", "580.65.06"],
  // No row of the tables: a minor, and a patch, of a known major.
  ["13.9", "580.65.06"],
  ["12.9.9", "525.60.13"],
];

/** NVIDIA's packages, with the branches of its published matrix, in images that do each thing for them. */
const packages: readonly (DriverRequirement & { readonly mode: "compat" })[] = (
  [
    { mode: "compat", package: "535.104.05", cuda: "12.2", branches: ["470", "525"] },
    { mode: "compat", package: "575.57.08", cuda: "12.9", branches: ["535", "570"] },
    { mode: "compat", package: "580.95.05", cuda: "13.0", branches: ["535", "570"] },
    { mode: "compat", for: "jetson", package: "12.8", cuda: "12.8", branches: ["540"] },
  ] as const
).flatMap((each) => [
  { ...each, listed: ["525", "535"] },
  ...onPaths.flatMap((onPath) => [
    { ...each, onPath },
    { ...each, onPath, listed: ["535", "570"] },
  ]),
]);

const expressions = [
  "cuda>=12.4",
  "cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536 brand=nvidiartx,driver>=550,driver<551",
  "brand=tesla brand=nvidia",
  "brand!=geforce,arch>=7.5",
  "CUDA>=99.0",
  "vgpu=1,cuda>=12.0 driver>=570",
  "cuda",
];

/** Some files are linked with what JetPack 7 has dropped; `{}` says that none is. */
const links = fc
  .constantFrom(null, null, null, null, {}, { "libnvdla_compiler.so": "/usr/lib/libnvinfer.so.10" })
  .map(
    (each): Pick<DriverRequirement & { readonly mode: "host" }, "links"> =>
      each === null ? {} : { links: each },
  );

const driverOf = (minimum: string): fc.Arbitrary<DriverRequirement> =>
  fc.oneof(
    { weight: 8, arbitrary: links.map((own) => ({ mode: "host" as const, minimum, ...own })) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(...drivers).map(([version]) => ({ mode: "bundled" as const, version })),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...packages), links).map(([each, own]) => ({ ...each, ...own })),
    },
  );

/** PTX of some images is of another version than their toolkit's. */
const withIsa = (target: string): fc.Arbitrary<string> =>
  target.startsWith("compute")
    ? fc.oneof(
        { weight: 2, arbitrary: fc.constant(target) },
        {
          weight: 1,
          arbitrary: fc.constantFrom("6.5", "7.8", "8.7", "9.3").map((isa) => `${target}@${isa}`),
        },
      )
    : fc.constant(target);

const cudaRequirement: fc.Arbitrary<CudaRequirement> = fc
  .constantFrom(...toolkits)
  .chain(([toolkit, minimum]) =>
    fc
      .record({
        code: fc
          .uniqueArray(fc.constantFrom(...targets), { maxLength: 8 })
          .chain((code) => fc.tuple(...code.map(withIsa))),
        driver: driverOf(minimum),
        require: fc.oneof(
          { weight: 3, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.constantFrom(...expressions) },
        ),
      })
      .map(({ code, driver, require }) => ({
        toolkit,
        code,
        driver,
        ...(require === undefined ? {} : { require }),
      })),
  );

const amdTargets = [
  "gfx900",
  "gfx906",
  "gfx906:sramecc+",
  "gfx908:sramecc-:xnack-",
  "gfx90a",
  "gfx90a:sramecc+",
  "gfx90a:sramecc-",
  "gfx90a:xnack+",
  "gfx90a:sramecc+:xnack-",
  "gfx90a:glow+",
  "gfx942",
  "gfx942:sramecc+",
  "gfx950",
  "gfx1010:xnack+",
  "gfx1030",
  "gfx1036",
  "gfx1100",
  "gfx1151",
  "gfx1201",
  "gfx1250:xnack+",
  "gfx1250:xnack-",
  "gfx1999",
  "gfx9-generic",
  "gfx9-generic:xnack-",
  "gfx9-4-generic",
  "gfx9-4-generic:sramecc+",
  "gfx10-1-generic",
  "gfx10-3-generic",
  "gfx11-generic",
  "gfx12-generic",
  "gfx12-5-generic",
  "amdgcnspirv",
];

const rocmRequirement: fc.Arbitrary<RocmRequirement> = fc.record({
  release: fc.constantFrom("5.7", "6.4.4", "7.0", "7.1", "7.2", "7.14", "10.0"),
  code: fc.uniqueArray(fc.constantFrom(...amdTargets), { minLength: 1, maxLength: 10 }),
});

const needs: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 9, arbitrary: fc.constant(["avx", "avx2", "fma"]) },
  { weight: 2, arbitrary: fc.subarray(x86Features) },
);

/** Mostly nothing: few images carry several of a kind. */
const others = <Other>(other: fc.Arbitrary<Other>): fc.Arbitrary<{ readonly or?: readonly Other[] }> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.array(other, { minLength: 1, maxLength: 2 }).map((or) => ({ or })) },
  );

const otherCpu = fc.subarray(x86Features).map((features) => ({ by: "other", march: "any", features }));

export const nvidiaImage: fc.Arbitrary<LockedImage> = fc
  .record({
    platform: mostly("linux/amd64", "linux/amd64/v1", "linux/arm64"),
    needs,
    cpus: others(otherCpu),
    cudas: others(cudaRequirement.map((other) => ({ by: "other", ...other }))),
    kernel: mostly<string | undefined>(undefined, "3.2.0", "5.10.0", "5.14"),
    cuda: fc.oneof({ weight: 5, arbitrary: cudaRequirement }, { weight: 1, arbitrary: fc.constant(null) }),
    python: fc.constantFrom("3.11", "3.12"),
    built: fc.integer({ min: 0, max: 19 }).map((n) => (n === 0 ? "never" : n === 1 ? "here" : "pushed")),
    unused: fc.oneof(
      { weight: 2, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.subarray([...x86Features, "sse2", "sve"]) },
    ),
  })
  .map(({ platform, needs, cpus, cudas, kernel, cuda, python, built, unused }) => ({
    axes: { cuda: cuda?.toolkit ?? "none", python },
    platform,
    tag: "",
    inputDigest: digest,
    digest: built === "pushed" ? digest : null,
    ...(built === "here" ? { local: { engine: "docker", id: digest } as const } : {}),
    requires: {
      cpu: { march: "any", features: needs, ...cpus },
      cuda: cuda && { ...cuda, ...cudas },
      ...(kernel === undefined ? {} : { kernel }),
    },
    ...(unused === null
      ? {}
      : {
          measured: {
            rules: 1,
            cpu: { unused },
            cuda: cuda === null ? null : { code: cuda.code, minimum: null },
          },
        }),
    bases: [],
    builder: "docker 28.2.2",
    created: null,
    size: null,
  }));

/** Mostly in the place of code for NVIDIA; of some images beside it; and a few are for what nobody judges. */
const withRocm: fc.Arbitrary<LockedImage> = fc
  .record({
    image: nvidiaImage,
    rocm: rocmRequirement,
    rocms: others(rocmRequirement.map((other) => ({ by: "other", ...other }))),
    kind: fc.constantFrom("alone", "alone", "alone", "both", "accelerator"),
  })
  .map(({ image, rocm, rocms, kind }) => {
    const { cpu, cuda, kernel } = image.requires;
    const gpu: Pick<Requirement, "cuda" | "rocm" | "accelerator"> =
      kind === "accelerator"
        ? { cuda: null, accelerator: "vulkan" }
        : { cuda: kind === "both" ? cuda : null, rocm: { ...rocm, ...rocms } };
    const accel = kind === "accelerator" ? "vulkan" : `rocm-${rocm.release}`;
    return {
      ...image,
      axes: { ...image.axes, accel, ...(kind === "both" ? {} : { cuda: "none" }) },
      requires: { cpu, ...gpu, ...(kernel === undefined ? {} : { kernel }) },
    };
  });

export const anyImage: fc.Arbitrary<LockedImage> = fc.oneof(
  { weight: 3, arbitrary: nvidiaImage },
  { weight: 2, arbitrary: withRocm },
);

/** The same image with one difference: locks of strangers never reach the last steps of the order. */
const twin = (image: LockedImage): fc.Arbitrary<LockedImage> => {
  const { cuda, rocm, cpu } = image.requires;
  const requires = (change: Partial<LockedImage["requires"]>) => ({
    ...image,
    requires: { ...image.requires, ...change },
  });
  const plain = fc.constantFrom(image, requires({ cpu: { ...cpu, features: cpu.features.slice(1) } }), {
    ...image,
    platform: "linux/amd64",
  });
  if (rocm !== undefined)
    return fc.oneof(
      plain,
      fc
        .constantFrom(...amdTargets)
        .map((target) => requires({ rocm: { ...rocm, code: [...new Set([...rocm.code, target])] } })),
      fc.constantFrom("6.4.4", "7.14").map((release) => requires({ rocm: { ...rocm, release } })),
    );
  // A target takes an image without code of its own away from the other GPUs.
  if (cuda === null || cuda.code.length === 0) return plain;
  const more = fc
    .constantFrom(...targets)
    .map((target) => requires({ cuda: { ...cuda, code: [...new Set([...cuda.code, target])] } }));
  const toolkit = fc
    .constantFrom(...toolkits)
    .map(([version]) => requires({ cuda: { ...cuda, toolkit: version } }));
  return fc.oneof(plain, more, toolkit);
};

const locksOf = (one: fc.Arbitrary<LockedImage>): fc.Arbitrary<Lock> =>
  fc
    .array(
      fc.oneof(
        one.map((image) => [image]),
        one.chain((image) => fc.tuple(fc.constant(image), twin(image), twin(image))),
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    )
    .map((groups) =>
      lockOf(Object.fromEntries(groups.flat().map((image, index) => [`cell-${index}`, image]))),
    );

export const anyLock = locksOf(anyImage);
/** For what refuses images for AMD. */
export const nvidiaLock = locksOf(nvidiaImage);

const steps = ["gpu", "vendor", "code", "tier", "toolkit", "cpu", "targets", "tag"];
const wishes = ["cuda=none", "accel=rocm-7.2", "cuda=12.8.1", "python=3.12", "python=3.11", "os=none"];

/** A lock's `prefer`: up to four steps and values, in any order. */
export const anyPrefer: fc.Arbitrary<readonly string[]> = fc.uniqueArray(
  fc.constantFrom(...steps, ...wishes),
  { maxLength: 4 },
);
