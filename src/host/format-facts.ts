/** Prints host facts as canonical JSON, and as lines for people. */

import { assertNever } from "../errors.ts";
import { printable } from "../printable.ts";
import type { AmdFacts, AmdGpuFacts, CompatMode, ContainerGpus, GpuFacts, HostFacts } from "./facts.ts";
import { isLabelled } from "./host-problems.ts";
import { checkHostFacts } from "./parse-facts.ts";

/** JSON with its keys in a fixed order, an indent of two blanks, and a final newline. `parseHostFacts` reads it back. */
export function formatHostFacts(facts: HostFacts): string {
  return `${JSON.stringify(canonical(facts), null, 2)}\n`;
}

/** The same on one line. */
export function formatFactsLine(facts: HostFacts): string {
  return `${JSON.stringify(canonical(facts))}\n`;
}

/** The order of the keys is that of the check, which knows every key: one that it lacked would be a mistake here, and not left out. */
function canonical(facts: HostFacts): HostFacts {
  return checkHostFacts(facts, { file: "these facts" });
}

const unknown = "unknown";

/** Lines for a terminal: platform, CPU, driver, each GPU, then each problem with its cure. */
export function describeHostFacts(facts: HostFacts): string[] {
  const { platform, kernel, cpu, nvidia, amd, runtime, problems } = facts;
  const labelled = isLabelled(problems);
  return [
    row("platform", `${platform}${kernel === null ? "" : `, kernel ${kernel}`}`),
    row("cpu", [cpu.vendor, cpu.model].filter((part) => part !== null).join(" ") || unknown),
    row(
      "level",
      `${cpu.level ?? unknown}, ${cpu.features === null ? "features unknown" : `${cpu.features.length} features`}`,
    ),
    ...(nvidia == null
      ? [
          row(
            "nvidia",
            nvidia === undefined ? unknown : labelled ? "none labelled" : "no device and no driver",
          ),
        ]
      : describeNvidia(nvidia, {
          driver: driverless(problems) ? "none" : unknown,
          gpus: labelled || nvidia.unknown?.includes("gpus") ? unknown : "none visible",
        })),
    ...(amd == null ? [] : describeAmd(amd, problems)),
    row(
      "containers",
      [
        labelled && runtime.nvidia === null ? unknown : containers("NVIDIA", runtime.nvidia),
        ...(runtime.toolkit === undefined ? [] : [`toolkit ${runtime.toolkit}`]),
        ...(runtime.compat === undefined ? [] : [compats[runtime.compat]]),
      ].join(", "),
    ),
    ...(runtime.amd === undefined ? [] : [row("", containers("AMD", runtime.amd))]),
    ...problems.flatMap(({ code, message, fix }) => [
      row("problem", `${code}: ${message}`),
      ...(fix === undefined ? [] : [row("", `fix: ${fix}`)]),
    ]),
  ].map(printable);
}

function containers(vendor: "AMD" | "NVIDIA", way: ContainerGpus | null): string {
  switch (way) {
    case "cdi":
      return `${vendor} GPUs through CDI`;
    case "legacy":
      return `${vendor} GPUs through the ${vendor} runtime`;
    case "none":
      return `an engine without ${vendor} support`;
    case null:
      return "no container engine seen";
    default:
      return assertNever(way);
  }
}

const compats = {
  ldconfig: "loads forward-compatibility packages (ldconfig)",
  mount: "mounts forward-compatibility packages",
  hook: "loads forward-compatibility packages (hook)",
  disabled: "loads no forward-compatibility package",
} as const satisfies Record<CompatMode, string>;

/** Without such a problem, a driver without a version is a driver of unknown version. */
function driverless(problems: HostFacts["problems"]): boolean {
  const codes: readonly string[] = ["HOST_NO_DRIVER", "HOST_NOUVEAU", "HOST_GPU_TAKEN"];
  return problems.some(({ code }) => codes.includes(code));
}

function describeNvidia(
  { driver, module, library, cuda, uvm, gpus }: NonNullable<HostFacts["nvidia"]>,
  absent: { readonly driver: string; readonly gpus: string },
): string[] {
  const details = [
    module === null ? null : `${module} module`,
    cuda === null ? null : `CUDA up to ${cuda}`,
    library === null || library === driver ? null : `library ${library}`,
    uvm === false ? "no /dev/nvidia-uvm" : null,
  ].filter((part) => part !== null);
  return [
    row("driver", [driver ?? absent.driver, ...details].join(", ")),
    ...(gpus.length === 0 ? [row("gpus", absent.gpus)] : gpus.flatMap(describeGpu)),
  ];
}

function describeGpu(gpu: GpuFacts): string[] {
  const details = [
    `compute ${gpu.compute ?? unknown}`,
    gpu.memoryMiB === null ? null : `${gpu.memoryMiB} MiB`,
    gpu.class === "unknown" ? null : gpu.class,
    gpu.use.processes === null ? null : `${gpu.use.processes} processes`,
    gpu.bus,
  ].filter((part) => part !== null);
  return [
    row(`gpu ${gpu.index}`, `${gpu.name ?? gpu.pci ?? unknown}: ${details.join(", ")}`),
    ...(gpu.fabric === undefined || gpu.fabric === "none"
      ? []
      : [row("", `NVSwitch fabric ${gpu.fabric.replace("-", " ")}`)]),
    ...(gpu.mig?.length === 0 ? [row("", "MIG without an instance")] : []),
    ...(gpu.mig ?? []).map(({ profile, uuid }) => row("", `MIG ${profile} ${uuid}`)),
  ];
}

function describeAmd(
  { driver, gpus, unknown: open = [] }: AmdFacts,
  problems: HostFacts["problems"],
): string[] {
  const absent = open.includes("driver")
    ? `driver ${unknown}`
    : problems.some(({ code }) => code === "HOST_AMD_NO_DRIVER")
      ? "no driver"
      : "driver of the kernel, without a version";
  const none = open.includes("gpus") ? unknown : "none visible";
  return [
    row("amd", driver === null ? absent : `driver ${driver}`),
    ...(gpus.length === 0 ? [row("amd gpus", none)] : gpus.map(describeAmdGpu)),
  ];
}

function describeAmdGpu({ index, name, target, pci, bus, ...gpu }: AmdGpuFacts): string {
  const details = [
    target ?? `target ${unknown}`,
    gpu.memoryMiB === null ? null : `${gpu.memoryMiB} MiB`,
    gpu.partition,
    gpu.sramecc === true ? "sramecc" : null,
    gpu.integrated === true ? "integrated" : null,
    bus,
  ].filter((part) => part !== null);
  return row(`amd ${index}`, `${name ?? pci ?? unknown}: ${details.join(", ")}`);
}

function row(label: string, text: string): string {
  return `${label.padEnd(11)}${text}`;
}
