/** Host facts for people, in the report of `imgmatch probe`. */

import { assertNever } from "../errors.ts";
import type { CompatMode, ContainerGpus, HostFacts, VendorFacts } from "../facts/facts.ts";
import { isLabelled } from "../facts/host-problems.ts";
import { sideOfFacts } from "../facts/sides.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../hardware/gpu-vendors.ts";
import { printable } from "../printable.ts";
import { amdLines } from "./probe-amd-lines.ts";
import { nvidiaLines } from "./probe-nvidia-lines.ts";
import { type FactsRow, unknown } from "./probe-rows.ts";

/** Lines for a terminal: platform, CPU, driver, each GPU, then each problem with its cure. */
export function describeHostFacts(facts: HostFacts): string[] {
  const { platform, kernel, cpu, runtime, problems } = facts;
  const [first, ...others] = gpuVendors;
  const labelled = isLabelled(problems);
  return [
    row("platform", `${platform}${kernel === null ? "" : `, kernel ${kernel}`}`),
    row("cpu", [cpu.vendor, cpu.model].filter((part) => part !== null).join(" ") || unknown),
    row(
      "level",
      `${cpu.level ?? unknown}, ${cpu.features === null ? "features unknown" : `${cpu.features.length} features`}`,
    ),
    ...gpuVendors.flatMap((vendor) => describeSide(vendor, facts)).map(([label, text]) => row(label, text)),
    row(
      "containers",
      [
        labelled && runtime[first] === null ? unknown : containers(first, runtime[first]),
        ...(runtime.toolkit === undefined ? [] : [`toolkit ${runtime.toolkit}`]),
        ...(runtime.compat === undefined ? [] : [compats[runtime.compat]]),
      ].join(", "),
    ),
    ...others.flatMap((vendor) => {
      const way = runtime[vendor];
      return way === undefined ? [] : [row("", containers(vendor, way))];
    }),
    ...problems.flatMap(({ code, message, fix }) => [
      row("problem", `${code}: ${message}`),
      ...(fix === undefined ? [] : [row("", `fix: ${fix}`)]),
    ]),
  ].map(printable);
}

function containers(named: GpuVendor, way: ContainerGpus | null): string {
  const vendor = vendorNames[named];
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

const sides: {
  readonly [V in GpuVendor]: (
    side: VendorFacts[V] | null | undefined,
    problems: HostFacts["problems"],
  ) => readonly FactsRow[];
} = { nvidia: nvidiaLines, amd: amdLines };

function describeSide<V extends GpuVendor>(vendor: V, facts: HostFacts): readonly FactsRow[] {
  return sides[vendor](sideOfFacts(vendor, facts), facts.problems);
}

function row(label: string, text: string): string {
  return `${label.padEnd(11)}${text}`;
}
