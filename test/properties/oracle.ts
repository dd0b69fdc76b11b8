/**
 * A second statement of the compatibility rules, for tests only: slow, obvious, written from NVIDIA's and the compilers'
 * documents and from the description of the order, not from the code that it judges. It imports types and nothing else.
 *
 * Where the product computes, this lists: which machine code runs where is written out device by device, as nvlink and
 * ptxas of CUDA 13.0 answered; which CUDA version a driver offers is the column of the release notes.
 */

import type { GpuFacts, HostFacts, NvidiaFacts } from "../../src/facts/facts.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";

/** Machine code that each device runs, best first. Programming Guide, "Binary Compatibility", and nvlink -arch. */
const machineCode: Readonly<Record<string, readonly string[]>> = {
  "3.7": ["sm_37", "sm_35", "sm_30"],
  "7.0": ["sm_70"],
  "7.5": ["sm_75", "sm_70"],
  "8.0": ["sm_80"],
  "8.6": ["sm_86", "sm_80"],
  "8.7": ["sm_87"],
  "8.9": ["sm_89", "sm_86", "sm_80"],
  "9.0": ["sm_90a", "sm_90"],
  "10.0": ["sm_100a", "sm_100f", "sm_100"],
  "10.3": ["sm_103a", "sm_103f", "sm_100f", "sm_103", "sm_100"],
  "11.0": ["sm_110a", "sm_110f", "sm_110"],
  "12.0": ["sm_120a", "sm_120f", "sm_120"],
  "12.1": ["sm_121a", "sm_121f", "sm_120f", "sm_121", "sm_120"],
};

/** Release notes, "New features": the toolkit with the first machine code that each device runs. Its libraries have the code too. */
const librariesSince: Readonly<Record<string, string>> = {
  "3.7": "5.0",
  "7.0": "9.0",
  "7.5": "9.0",
  "8.0": "11.0",
  "8.6": "11.0",
  "8.7": "11.4",
  "8.9": "11.0",
  "9.0": "11.8",
  "10.0": "12.8",
  "10.3": "12.8",
  "11.0": "13.0",
  "12.0": "12.8",
  "12.1": "12.8",
};

/** PTX that each device runs once its driver has compiled it, nearest first. Programming Guide, "PTX Compatibility", and ptxas. */
const ptx: Readonly<Record<string, readonly string[]>> = {
  "3.7": [],
  "7.0": ["compute_70", "compute_50"],
  "7.5": ["compute_70", "compute_50"],
  "8.0": ["compute_80", "compute_70", "compute_50"],
  "8.6": ["compute_80", "compute_70", "compute_50"],
  "8.7": ["compute_80", "compute_70", "compute_50"],
  "8.9": ["compute_80", "compute_70", "compute_50"],
  "9.0": ["compute_90", "compute_90a", "compute_80", "compute_70", "compute_50"],
  "10.0": ["compute_100f", "compute_90", "compute_80", "compute_70", "compute_50"],
  "10.3": ["compute_100f", "compute_90", "compute_80", "compute_70", "compute_50"],
  "11.0": ["compute_90", "compute_80", "compute_70", "compute_50"],
  "12.0": ["compute_120", "compute_90", "compute_80", "compute_70", "compute_50"],
  "12.1": ["compute_120", "compute_90", "compute_80", "compute_70", "compute_50"],
};

/** Release notes, "CUDA Toolkit and Corresponding Driver Versions", read backwards. R430 is absent: it offers 10.1 or 10.2. */
const cudaOfBranch: Readonly<Record<string, string>> = {
  396: "9.2",
  410: "10.0",
  418: "10.1",
  440: "10.2",
  450: "11.0",
  470: "11.4",
  525: "12.0",
  535: "12.2",
  550: "12.4",
  555: "12.5",
  570: "12.8",
  575: "12.9",
  580: "13.0",
  590: "13.1",
  610: "13.3",
  620: "13.5",
};

/** A branch that the table lacks is newer than one that has it, and a newer driver offers no less. */
function oldestOf(cuda: string): string | undefined {
  return (
    oldestDriverOf[cuda] ?? Object.entries(cudaOfBranch).find(([, has]) => !older(has, minorOf(cuda)))?.[0]
  );
}

/** The same table forwards: the oldest driver that knows all of a toolkit. */
const oldestDriverOf: Readonly<Record<string, string>> = {
  "9.2.148": "396.37",
  "10.1.243": "418.39",
  "10.2.89": "440.33",
  "11.8.0": "520.61.05",
  "12.4.1": "550.54.15",
  "12.6.3": "560.35.05",
  "12.8.1": "570.124.06",
  "12.9.1": "575.57.08",
  "13.0.2": "580.95.05",
  "13.3.0": "610.43.02",
};

/** PTX ISA, "Release Notes": the toolkit that wrote a version first, with the oldest driver that knows all of that toolkit. */
const cudaOfIsa: Readonly<Record<string, readonly [cuda: string, driver: string]>> = {
  "6.5": ["10.2", "440.33"],
  "7.8": ["11.8", "520.61.05"],
  "8.7": ["12.8", "570.26"],
  "9.3": ["13.3", "610.43.02"],
};

/** The same for a toolkit that brought no version of its own: it writes that of an earlier one. */
const earlierIsa: Readonly<Record<string, readonly [cuda: string, driver: string]>> = {
  "12.6": ["12.5", "555.42.02"],
};

/** CUDA Compatibility, minor-version compatibility: the oldest driver of a major. Before CUDA 11 there was no such thing. */
const oldestDriverOfMajor: Readonly<Record<string, string>> = {
  11: "450.80.02",
  12: "525.60.13",
  13: "580.65.06",
};

/** CUDA Toolkit, Driver and Architecture Matrix: the last branch that drives a card. */
const lastBranch: Readonly<Record<string, number>> = { "3.7": 470, "7.0": 580 };

/** The first branch that knows a card: Blackwell came with R570, B300 and GB10 with R580. */
const firstBranch: Readonly<Record<string, number>> = { "10.0": 570, "10.3": 580, "12.0": 570, "12.1": 580 };

/** Release notes: CUDA 12.0 dropped Kepler, 13.0 dropped everything before Turing. Libraries of a later toolkit have nothing for the card. */
const lastMajor: Readonly<Record<string, number>> = { "3.7": 11, "7.0": 12 };

/** NVIDIA's announcement of the open kernel modules: nothing else drives Blackwell. */
const openAlone = ["10.0", "10.3", "12.0", "12.1"];

/** Driver Installation Guide, Kernel Modules: the open ones need a GSP, which came with Turing (7.5). */
const withoutGsp = ["3.7", "7.0"];

/**
 * Code that each AMD device runs, best first, as clang and LLVM's documents have the members of generic targets (AMDGPUUsage, "Generic
 * processors"). Behind them comes SPIR-V, which the image's own compiler makes into code for every device that LLVM knows.
 */
const amdCode: Readonly<Record<string, readonly string[]>> = {
  gfx900: ["gfx900", "gfx9-generic", "amdgcnspirv"],
  gfx906: ["gfx906", "gfx9-generic", "amdgcnspirv"],
  gfx908: ["gfx908", "amdgcnspirv"],
  gfx90a: ["gfx90a", "amdgcnspirv"],
  gfx942: ["gfx942", "gfx9-4-generic", "amdgcnspirv"],
  gfx950: ["gfx950", "gfx9-4-generic", "amdgcnspirv"],
  gfx1010: ["gfx1010", "gfx10-1-generic", "amdgcnspirv"],
  gfx1030: ["gfx1030", "gfx10-3-generic", "amdgcnspirv"],
  gfx1036: ["gfx1036", "gfx10-3-generic", "amdgcnspirv"],
  gfx1100: ["gfx1100", "gfx11-generic", "amdgcnspirv"],
  gfx1151: ["gfx1151", "gfx11-generic", "amdgcnspirv"],
  gfx1201: ["gfx1201", "gfx12-generic", "amdgcnspirv"],
  gfx1250: ["gfx1250", "gfx12-5-generic", "amdgcnspirv"],
  gfx1999: ["gfx1999"],
};

export interface OracleAnswer {
  /** Every reason that holds; empty when the image fits. */
  readonly reasons: ReadonlySet<string>;
  readonly tier: "native" | "minor" | "forward";
  /** For each GPU, in their order. */
  readonly runs: readonly string[];
}

/** An image that carries several GPU sides or CPU sides is, on a host, any pair of them that runs there. */
export function eachOf(image: LockedImage): readonly LockedImage[] {
  const { cpu, cuda, rocm, ...needs } = image.requires;
  const { measured, ...rest } = image;
  const pairs: LockedImage[] = [];
  // Files of several variants together tell nothing of one.
  const own = cpu.or === undefined && measured !== undefined ? { measured } : {};
  const cudas = cuda === null ? [] : [cuda, ...(cuda.or ?? [])];
  const rocms = rocm === undefined ? [] : [rocm, ...(rocm.or ?? [])];
  const sides = [
    ...cudas.map((each) => ({ cuda: each })),
    ...rocms.map((each) => ({ cuda: null, rocm: each })),
    ...(cudas.length + rocms.length === 0 ? [{ cuda: null }] : []),
  ];
  for (const gpuSide of sides)
    for (const cpuSide of [cpu, ...(cpu.or ?? [])])
      pairs.push({ ...rest, ...own, requires: { ...needs, cpu: cpuSide, ...gpuSide } });
  return pairs;
}

/** Of an image of one pair: what it has besides is not looked at. */
export function askOracle(image: LockedImage, host: HostFacts): OracleAnswer {
  const reasons = new Set<string>();
  const { cuda, rocm, cpu, kernel, accelerator } = image.requires;

  if (accelerator !== undefined) reasons.add("PIN_MISMATCH");
  if (image.digest === null) reasons.add(image.local === undefined ? "NOT_BUILT" : "NOT_PUSHED");
  const foreign = image.platform.split("/")[1] !== host.platform.split("/")[1];
  if (foreign) reasons.add("ARCH_MISMATCH");

  const broken = [
    "HOST_DRIVER_LIBRARY_MISMATCH",
    "HOST_GPU_LOST",
    "HOST_NVML_FAILED",
    "HOST_NO_DEVICES",
    "HOST_SMI_TIMEOUT",
    "HOST_SMI_FAILED",
    "HOST_MIG_EMPTY",
    "HOST_FABRIC_NOT_READY",
    "HOST_NO_UVM",
    "HOST_GPU_NOT_READY",
  ];
  const broken_ = rocm === undefined ? broken : ["HOST_AMD_GPU_SKIPPED"];
  if (accelerator === undefined && host.problems.some((problem) => broken_.includes(problem.code)))
    reasons.add("HOST_BROKEN");

  for (const feature of cpu.features) {
    if (foreign) continue;
    // Measuring only drops requirements, and never one that every x86-64 CPU meets.
    if (image.measured?.cpu.unused.includes(feature) === true && feature !== "sse2") continue;
    if (host.cpu.features === null || !host.cpu.features.includes(feature))
      reasons.add("CPU_FEATURES_MISSING");
  }
  if (kernel !== undefined && (host.kernel === null || older(host.kernel, kernel)))
    reasons.add("KERNEL_TOO_OLD");

  if (rocm !== undefined) return { reasons, tier: "native", runs: runsOfAmd(rocm.code, host, reasons) };
  if (cuda === null) return { reasons, tier: "native", runs: [] };
  const nvidia = host.nvidia;
  if (isUntold(host)) return { reasons: reasons.add("FACT_UNKNOWN"), tier: "native", runs: [] };
  if (nvidia == null) return { reasons: reasons.add("NO_GPU"), tier: "native", runs: [] };
  if (nvidia.driver === null) return { reasons: reasons.add("NO_NVIDIA_DRIVER"), tier: "native", runs: [] };
  if (nvidia.gpus.length === 0) reasons.add("NO_GPU");

  const wsl = nvidia.driverScale === "wsl";
  const jetson = isJetson(nvidia);
  const plain = !wsl && !jetson;
  const branch = nvidia.driver.split(".")[0] ?? "";
  const offered = nvidia.cuda ?? (plain ? (cudaOfBranch[branch] ?? null) : null);

  for (const gpu of nvidia.gpus) {
    if (gpu.compute === null) continue;
    if (nvidia.module === "open" && withoutGsp.includes(gpu.compute)) reasons.add("NO_GPU");
    if (nvidia.module === "proprietary" && openAlone.includes(gpu.compute)) reasons.add("NO_GPU");
    const first = firstBranch[gpu.compute];
    if (first !== undefined && plain && Number(branch) < first) reasons.add("NO_GPU");
    if (first !== undefined && wsl && offered !== null && older(offered, cudaOfBranch[first] ?? ""))
      reasons.add("NO_GPU");
    const last = lastBranch[gpu.compute];
    if (last === undefined) continue;
    if (plain && Number(branch) > last) reasons.add("NO_GPU");
    if (wsl && offered !== null && older(cudaOfBranch[last] ?? "", offered)) reasons.add("NO_GPU");
  }

  // How the driver serves the toolkit.
  const toolkit = minorOf(cuda.toolkit);
  let tier: OracleAnswer["tier"] = "native";
  let understands = (_cuda: string, _oldest: string | undefined): boolean => false;
  const asHost = (minimum: string): void => {
    const enough = plain
      ? !older(nvidia.driver ?? "", minimum)
      : offered !== null && !older(offered, cudaOfBranch[minimum.split(".")[0] ?? ""] ?? "999");
    if (!enough) reasons.add("DRIVER_TOO_OLD");
    knowsAll();
  };
  const knowsAll = (): void => {
    understands = (wanted, oldest) =>
      offered === null
        ? plain && oldest !== undefined && !older(nvidia.driver ?? "", oldest)
        : !older(offered, wanted);
    tier = understands(toolkit, oldestOf(cuda.toolkit)) ? "native" : "minor";
  };
  const { driver } = cuda;
  const lacks = driver.mode !== "bundled" && Object.keys(driver.links ?? {}).length > 0;
  const dropped = lacks && jetson && Number(branch) >= 580;
  if (driver.mode === "host") asHost(driver.minimum);
  // What an older driver lacks is told before what a newer one dropped.
  if (dropped && !reasons.has("DRIVER_TOO_OLD")) reasons.add("DRIVER_NOT_EXACT");
  if (driver.mode === "bundled") {
    const oldest = oldestDriverOfMajor[toolkit.split(".")[0] ?? ""] ?? oldestDriverOf[cuda.toolkit] ?? "999";
    if (wsl || driver.version !== nvidia.driver) reasons.add("DRIVER_NOT_EXACT");
    else if (older(driver.version, oldest)) reasons.add("DRIVER_TOO_OLD");
    knowsAll();
  }
  if (driver.mode === "compat" && !dropped) {
    const loads = loadsOf(driver, host, offered);
    const usual = new Set(reasons);
    asHost(oldestDriverOfMajor[toolkit.split(".")[0] ?? ""] ?? oldestDriverOf[cuda.toolkit] ?? "999");
    const tooOld = reasons.has("DRIVER_TOO_OLD") && !usual.has("DRIVER_TOO_OLD");
    const same = plain && !older(nvidia.driver, driver.package) && !older(driver.package, nvidia.driver);
    if (loads.has("package") && !same) {
      const forJetson = driver.for === "jetson";
      const listed =
        driver.branches.includes(branch) || (!forJetson && driver.package.split(".")[0] === branch);
      const allowed = forJetson
        ? jetson
        : !jetson && nvidia.gpus.every((gpu) => gpu.class === "datacenter" || gpu.class === "workstation");
      // CUDA for Tegra: a package serves the toolkits up to its own.
      const majorFits = forJetson
        ? !older(driver.cuda, toolkit)
        : Number(driver.cuda.split(".")[0]) >= Number(toolkit.split(".")[0]);
      const shadows = plain && older(driver.package, nvidia.driver);
      const fails = (wsl && !forJetson) || shadows || !listed || !allowed || !majorFits;
      const alone = loads.has("host");
      if (!alone) reasons.delete("DRIVER_TOO_OLD");
      tier = "forward";
      const byHost = understands;
      understands = (wanted, oldest) => (byHost(wanted, oldest) || !alone) && !older(driver.cuda, wanted);
      if (fails && (tooOld || !alone || keepsOrder(driver, host))) {
        reasons.delete("DRIVER_TOO_OLD");
        reasons.add("COMPAT_NOT_SUPPORTED");
      } else if (alone && (fails || tooOld)) {
        reasons.delete("DRIVER_TOO_OLD");
        reasons.add(
          driver.onPath !== undefined && isToolkitUnknown(host) ? "FACT_UNKNOWN" : "COMPAT_NOT_SUPPORTED",
        );
      }
    }
  }

  // The code that each GPU runs.
  const runs: string[] = [];
  for (const gpu of nvidia.gpus) {
    const dropped = Number(toolkit.split(".")[0]) > (lastMajor[gpu.compute ?? ""] ?? 999);
    if (cuda.code.length === 0) {
      // Only the libraries of the toolkit have code.
      if (dropped || older(toolkit, librariesSince[gpu.compute ?? ""] ?? "999")) reasons.add("NO_GPU_CODE");
      continue;
    }
    const code = dropped ? [] : cuda.code;
    const machine = (machineCode[gpu.compute ?? ""] ?? []).find((target) => code.includes(target));
    const virtual = (ptx[gpu.compute ?? ""] ?? []).flatMap((target) =>
      code.filter((entry) => entry.split("@")[0] === target),
    );
    const understood = virtual.find((entry) => {
      const isa = cudaOfIsa[entry.split("@")[1] ?? ""] ?? earlierIsa[toolkit];
      return isa === undefined ? understands(toolkit, oldestOf(cuda.toolkit)) : understands(...isa);
    });
    if (machine !== undefined) runs.push(machine);
    else if (understood !== undefined) runs.push(understood);
    else if (virtual.length > 0) reasons.add("PTX_TOO_NEW");
    // nvlink of 13.3 links it for Orin, that of 13.0 does not.
    else if (jetson && Number(branch) >= 580 && code.includes("sm_80") && /^8\.[78]$/.test(gpu.compute ?? ""))
      reasons.add("FACT_UNKNOWN");
    else reasons.add("NO_GPU_CODE");
  }

  const enforced =
    driver.mode !== "bundled" && (host.runtime.nvidia === "legacy" || host.runtime.nvidia === null);
  if (enforced && cuda.require !== undefined) {
    const text = cuda.require;
    const allHold = nvidia.gpus.every(
      (gpu) =>
        requirementHolds(text, {
          cuda: offered,
          driver: plain ? nvidia.driver : null,
          arch: gpu.compute,
          brand: brand(gpu, plain ? branch : null),
        }) === "yes",
    );
    if (!allHold) reasons.add("NVIDIA_REQUIRE_UNSATISFIED");
  }
  return { reasons, tier, runs };
}

/** Finds the code that each visible AMD GPU runs, and adds the reasons against the image. */
function runsOfAmd(code: readonly string[], host: HostFacts, reasons: Set<string>): readonly string[] {
  const { amd } = host;
  const gpus = cardsOf(host);
  if (isAmdUntold(host)) {
    reasons.add("FACT_UNKNOWN");
    return [];
  }
  if (amd == null) {
    reasons.add("NO_AMD_GPU");
    return [];
  }
  if (isWithoutAmdDriver(host)) {
    reasons.add("NO_AMD_DRIVER");
    return [];
  }
  if (gpus.length === 0) reasons.add("NO_AMD_GPU");
  const runs: string[] = [];
  let doubt = false;
  for (const gpu of gpus) {
    let best: string | null = null;
    let mayRun = false;
    for (const processor of amdCode[gpu.target ?? ""] ?? []) {
      for (const target of [...code].sort()) {
        const [name, ...states] = target.split(":");
        if (name !== processor) continue;
        const answers = states.map((state) => {
          // Off in every process that does not ask for it, but gfx1250 has it on.
          if (state === "xnack+") return gpu.target === "gfx1250";
          if (state === "xnack-") return gpu.target !== "gfx1250";
          if (state === "sramecc+") return gpu.sramecc;
          if (state === "sramecc-") return gpu.sramecc === null ? null : !gpu.sramecc;
          return false;
        });
        if (answers.every((each) => each === true)) best ??= target;
        if (answers.includes(null) && !answers.includes(false)) mayRun = true;
      }
    }
    if (best !== null) runs.push(best);
    else if (mayRun) doubt = true;
    else reasons.add("NO_GPU_CODE");
  }
  if (doubt && !reasons.has("NO_GPU_CODE")) reasons.add("FACT_UNKNOWN");
  return runs;
}

/** Beside a card nobody means the GPU of the processor. */
function cardsOf({ amd }: HostFacts) {
  const gpus = amd?.gpus ?? [];
  const cards = gpus.filter(({ integrated }) => integrated !== true);
  return cards.length > 0 ? cards : gpus;
}

/** A driver has a version, or gives its GPUs nodes; what the PCI bus alone shows has none, nor has what the probe says it of. */
function isWithoutAmdDriver({ amd, problems, sources }: HostFacts): boolean {
  if (amd == null || amd.driver !== null || amd.gpus.some(({ render }) => render !== null)) return false;
  if (amd.gpus.length > 0 && sources["amd.gpus"] === "/sys/bus/pci/devices") return true;
  return problems.some(({ code }) => code === "HOST_AMD_NO_DRIVER");
}

function isAmdUntold(host: HostFacts): boolean {
  const { amd } = host;
  if (amd === undefined) return true;
  if (amd === null) return false;
  if (amd.unknown !== undefined && amd.unknown.length > 0) return true;
  return !isWithoutAmdDriver(host) && cardsOf(host).some(({ target }) => target === null);
}

/** Branches in the notes of two packages' libcuda (nvidia-container-toolkit, testdata/compat). */
const notes: Readonly<Record<string, readonly string[]>> = {
  "12.9": ["535", "550", "560", "565", "570", "575"],
  "13.1": ["535", "550", "570", "575", "580", "590"],
};

/** How a container may be started: one line for each toolkit and way that the facts leave open. */
function startsOf({ runtime }: HostFacts): readonly { adds: string; hostFirst: boolean }[] {
  const { nvidia, toolkit, compat } = runtime;
  const all = ["newer", "listed", "never"];
  const is = (version: string) => toolkit !== undefined && !older(toolkit, version);
  const hostFirst =
    nvidia === "cdi"
      ? [false]
      : nvidia === "legacy" && toolkit !== undefined && !is("1.18")
        ? [true]
        : [true, false];
  const added = () => {
    if ((nvidia !== "cdi" && nvidia !== "legacy") || compat === undefined) return all;
    if (compat === "ldconfig" || compat === "mount") return ["newer"];
    if (compat === "disabled") return nvidia === "cdi" || hostFirst[1] === undefined ? ["never"] : all;
    if (nvidia === "legacy" || toolkit === undefined) return all;
    return is("1.20") ? ["listed"] : ["newer"];
  };
  return added().flatMap((adds) => hostFirst.map((first) => ({ adds, hostFirst: first })));
}

function isToolkitUnknown(host: HostFacts): boolean {
  const { nvidia, toolkit } = host.runtime;
  const orderKnown = nvidia === "cdi" || (nvidia === "legacy" && toolkit !== undefined);
  return !orderKnown || new Set(startsOf(host).map(({ adds }) => adds)).size > 1;
}

/** Here the package comes first by the image's own ld.so.conf. */
function keepsOrder({ onPath }: CompatDriver, { runtime }: HostFacts): boolean {
  const { nvidia, toolkit } = runtime;
  const asCdi = nvidia === "cdi" || (nvidia === "legacy" && toolkit !== undefined && !older(toolkit, "1.18"));
  return onPath === "cache" && asCdi;
}

function isJetson({ driverScale, gpus }: NvidiaFacts): boolean {
  const isTegra = gpus.every((gpu) => gpu.class === "tegra");
  return driverScale === undefined ? gpus.length > 0 && isTegra : driverScale === "l4t" && isTegra;
}

type CompatDriver = Extract<NonNullable<LockedImage["requires"]["cuda"]>["driver"], { mode: "compat" }>;

/** Whose libcuda a program may get, over all ways in which its container may be started. */
function loadsOf(
  driver: CompatDriver,
  host: HostFacts,
  offered: string | null,
): ReadonlySet<"package" | "host"> {
  const loads = new Set<"package" | "host">();
  const { nvidia } = host;
  const version = nvidia?.driver ?? "";
  const [branch = "", own = ""] = [version.split(".")[0], driver.package.split(".")[0]];
  const tegra = nvidia != null && isJetson(nvidia);
  const plain = nvidia?.driverScale !== "wsl" && !tegra;
  const add = (...more: readonly ("package" | "host")[]) => {
    for (const each of more) loads.add(each);
  };
  for (const { adds, hostFirst } of startsOf(host)) {
    if (driver.onPath === "always") add("package");
    else {
      // By the image alone.
      const found: readonly ("package" | "host")[] =
        driver.onPath === "never" || (driver.onPath === "cache" && hostFirst)
          ? ["host"]
          : ["package", "host"];
      if (adds === "never" || (driver.for === "jetson" && !tegra)) add(...found);
      else if (!plain)
        add(
          ...found,
          ...(offered !== null && !older(offered, driver.cuda) ? [] : (["package", "host"] as const)),
        );
      else if (!older(version, driver.package)) add(...found);
      else if (adds === "newer") add(...(Number(own) > Number(branch) ? (["package"] as const) : found));
      else if (own === branch) add("package");
      else {
        const note = driver.listed ?? notes[driver.cuda];
        const listed = note === undefined ? driver.branches.includes(branch) || null : note.includes(branch);
        add(...(listed === null ? (["package", "host"] as const) : listed ? (["package"] as const) : found));
      }
    }
  }
  return loads;
}

/** Nobody has said whether there is an NVIDIA GPU, which driver, which GPUs, or what a GPU under a driver is. */
function isUntold({ nvidia }: HostFacts): boolean {
  if (nvidia === undefined) return true;
  if (nvidia === null) return false;
  if (nvidia.unknown !== undefined && nvidia.unknown.length > 0) return true;
  return nvidia.driver !== null && nvidia.gpus.some((gpu) => gpu.compute === null);
}

/** The cell that should win, or null: keep the best by one criterion after the other until one is left. */
export function askOracleForBest(lock: Lock, host: HostFacts): string | null {
  // On a host with unknown facts, an image without GPU code may be wrong, unless the fleet has no other images.
  const built = Object.values(lock.images).filter(({ digest }) => digest !== null);
  // The same where its state is no state to stay in. Images for NVIDIA come before those for AMD.
  const ill = (codes: RegExp) => host.problems.some(({ code }) => codes.test(code));
  const broken =
    /^HOST_(DRIVER_LIBRARY_MISMATCH|GPU_LOST|NVML_FAILED|NO_DEVICES|SMI_TIMEOUT|SMI_FAILED|MIG_EMPTY|FABRIC_NOT_READY|NO_UVM|GPU_NOT_READY)$/;
  const nvidiaOpen = (isUntold(host) || ill(broken)) && built.some(({ requires }) => requires.cuda !== null);
  const amdOpen =
    (isAmdUntold(host) || ill(/^HOST_AMD_GPU_SKIPPED$/)) &&
    built.some(({ requires }) => requires.rocm !== undefined);
  let left = Object.entries(lock.images)
    .flatMap(([cell, image]) =>
      eachOf(image).map((one) => ({ cell, image: one, answer: askOracle(one, host) })),
    )
    .filter(({ answer }) => answer.reasons.size === 0)
    .filter(({ image: { requires } }) => requires.cuda !== null || !nvidiaOpen)
    .filter(({ image: { requires } }) => requires.cuda !== null || requires.rocm !== undefined || !amdOpen);
  const keepLowest = (score: (candidate: (typeof left)[number]) => string) => {
    const best = left.map(score).sort()[0];
    left = left.filter((candidate) => score(candidate) === best);
  };
  keepLowest(({ image: { requires } }) =>
    requires.cuda !== null ? "1 NVIDIA" : requires.rocm !== undefined ? "2 AMD" : "3 neither",
  );
  keepLowest(
    ({ image, answer }) =>
      answer.runs
        .map((target, index) =>
          target.startsWith("s") || target.startsWith("c")
            ? nearness(target, host.nvidia?.gpus[index]?.compute ?? "")
            : `${amdRefusesKernel(image, host, index) ? "4 " : ""}${
                target === "amdgcnspirv" ? "3 compiled" : target.includes("-generic") ? "2 family" : "1 own"
              }`,
        )
        .sort()
        // An image that has no code of its own comes after all that have.
        .at(-1) ?? "9 no code",
  );
  keepLowest(({ answer }) => String(["native", "minor", "forward"].indexOf(answer.tier)));
  keepLowest(({ image }) =>
    complement(padded(image.requires.cuda?.toolkit ?? image.requires.rocm?.release ?? "0")),
  );
  // Of the marches of these random images no table knows what is emitted: every feature counts as that.
  keepLowest(({ image }) => complement(padded(String(builtFor(image, host)))));
  keepLowest(({ image }) => padded(String(image.requires.cpu.features.length)));
  keepLowest(({ image, answer }) =>
    padded(
      String(
        ((image.requires.cuda ?? image.requires.rocm)?.code ?? []).filter(
          (target) => !answer.runs.includes(target),
        ).length,
      ),
    ),
  );
  keepLowest(({ image }) => image.tag);
  return left[0]?.cell ?? null;
}

/**
 * AMD's page on Strix Halo: these releases are not supported from Linux 6.18.4 on. Code of them comes last, whatever its kind. Older kernels may
 * have a distribution's fixes, so that they change nothing.
 */
function amdRefusesKernel({ requires }: LockedImage, { amd, kernel }: HostFacts, index: number): boolean {
  const refused = ["6.4", "7.1", "7.9", "7.10"].includes(minorOf(requires.rocm?.release ?? ""));
  return refused && amd?.gpus[index]?.target === "gfx1151" && kernel !== null && !older(kernel, "6.18.4");
}

/** All that is declared where the host has all of it; else, as no march is a part of these random ones, what is used. */
function builtFor({ requires, measured }: LockedImage, host: HostFacts): number {
  const { features } = requires.cpu;
  if (features.every((feature) => host.cpu.features?.includes(feature))) return features.length;
  return features.filter((feature) => !measured?.cpu.unused.includes(feature)).length;
}

/** Sorts as text: specific, family, machine code by minors, PTX by tenths. */
function nearness(target: string, compute: string): string {
  const [major = "", minor = ""] = compute.split(".");
  const digits = (target.split("@")[0] ?? "").replace(/\D/g, "");
  const away = Number(major) * 10 + Number(minor) - Number(digits);
  const group = target.startsWith("compute") ? 3 : target.endsWith("a") ? 0 : target.endsWith("f") ? 1 : 2;
  return `${group} ${String(away).padStart(4, "0")}`;
}

/** nvidia-smi's product_brand: GeForce, Titan, Quadro, Quadro RTX, NVIDIA RTX; Tesla became NVIDIA between R440 and R515. */
function brand(gpu: GpuFacts, branch: string | null): string | null {
  const name = gpu.name ?? "";
  if (name.includes("GeForce")) return "geforce";
  if (name.includes("Quadro RTX")) return "quadrortx";
  if (name.startsWith("NVIDIA RTX")) return "nvidiartx";
  if (gpu.class !== "datacenter" || branch === null) return null;
  if (Number(branch) <= 440) return "tesla";
  return Number(branch) >= 515 ? "nvidia" : null;
}

/** Space is OR, comma is AND, conditions on unknown names do not count, an unreadable condition fails everything. */
function requirementHolds(
  text: string,
  offer: Readonly<Record<string, string | null>>,
): "yes" | "no" | "unknown" {
  const answers: string[] = [];
  for (const alternative of text.split(" ")) {
    const answersOfAll: string[] = [];
    for (const condition of alternative.split(",")) {
      const match = /^(\w*)(>=|<=|!=|=|<|>)(.*)$/.exec(condition);
      if (match === null) return "no";
      const [, name = "", operator = "", value = ""] = match;
      if (!(name in offer)) continue;
      const actual = offer[name] ?? null;
      if (actual === null) answersOfAll.push("unknown");
      else if (name === "brand") answersOfAll.push((actual === value) === (operator === "=") ? "yes" : "no");
      else {
        const before = older(actual, value);
        const after = older(value, actual);
        const same = !before && !after;
        const holds = { ">=": !before, "<=": !after, "=": same, "!=": !same, "<": before, ">": after }[
          operator
        ];
        answersOfAll.push(holds ? "yes" : "no");
      }
    }
    if (answersOfAll.length === 0) continue;
    answers.push(answersOfAll.includes("no") ? "no" : answersOfAll.includes("unknown") ? "unknown" : "yes");
  }
  if (answers.length === 0 || answers.includes("yes")) return "yes";
  return answers.includes("unknown") ? "unknown" : "no";
}

/** Versions as text of equal width, so that the order of text is the order of versions. */
function padded(version: string): string {
  const parts = version.split(".");
  return [0, 1, 2, 3].map((index) => (parts[index] ?? "0").padStart(6, "0").slice(-6)).join(".");
}

function older(a: string, b: string): boolean {
  return padded(a) < padded(b);
}

function minorOf(toolkit: string): string {
  return toolkit.split(".").slice(0, 2).join(".");
}

/** Turns the order of digits around. */
function complement(digits: string): string {
  return digits.replace(/\d/g, (digit) => String(9 - Number(digit)));
}

/**
 * The states in which CUDA fails, each with the GPUs in the state: Fabric Manager User Guide, MIG User Guide, "Compute Modes" of the programming
 * guide, "GPU Recovery Action" of nvidia-smi, DCGM on failed remappings, and nvml.h on confidential computing.
 */
export function askOracleForStates({ uvm, ready, gpus }: NvidiaFacts): readonly string[] {
  const indexes = (isIn: (gpu: GpuFacts) => boolean): string =>
    gpus
      .filter(isIn)
      .map(({ index }) => index)
      .join(", ");
  const states: string[] = [];
  const add = (code: string, found: string) => {
    if (found !== "") states.push(`${code} ${found}`);
  };
  add(
    "HOST_FABRIC_NOT_READY",
    indexes(({ fabric }) => fabric !== undefined && fabric !== "none" && fabric !== "completed"),
  );
  add(
    "HOST_MIG_EMPTY",
    indexes(({ mig }) => mig != null && mig.length === 0),
  );
  if (uvm === false && gpus.length > 0) states.push("HOST_NO_UVM all");
  if (!gpus.some(({ computeMode }) => computeMode !== "prohibited"))
    add(
      "HOST_GPU_NOT_READY",
      indexes(() => true),
    );
  for (const action of ["reset", "reboot", "drain-p2p", "drain-and-reset", "other"])
    add(
      "HOST_GPU_NOT_READY",
      indexes(({ recovery }) => recovery === action),
    );
  add(
    "HOST_GPU_NOT_READY",
    indexes(({ remapFailed }) => remapFailed === true),
  );
  if (ready === false && gpus.length > 0) states.push("HOST_GPU_NOT_READY all");
  return states;
}
