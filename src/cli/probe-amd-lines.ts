/** The AMD side of host facts in the report of `imgmatch probe`. */

import type { AmdFacts, AmdGpuFacts, HostFacts } from "../facts/facts.ts";
import { linkNames } from "../hardware/gpu-vendors.ts";
import { type FactsRow, placeWords, unknown } from "./probe-rows.ts";

export function amdLines(
  amd: AmdFacts | null | undefined,
  problems: HostFacts["problems"],
): readonly FactsRow[] {
  if (amd == null) return [];
  const { driver, override, gpus, unknown: open = [] } = amd;
  const absent = open.includes("driver")
    ? `driver ${unknown}`
    : problems.some(({ code }) => code === "HOST_AMD_NO_DRIVER")
      ? "no driver"
      : "driver of the kernel, without a version";
  const none = open.includes("gpus") ? unknown : "none visible";
  return [
    ["amd", driver === null ? absent : `driver ${driver}`],
    ...(override === undefined ? [] : [["", `HSA_OVERRIDE_GFX_VERSION names ${override}: ignored`] as const]),
    ...(gpus.length === 0 ? [["amd gpus", none] as const] : gpus.map(describeAmdGpu)),
  ];
}

function describeAmdGpu({ index, name, target, pci, bus, ...gpu }: AmdGpuFacts): FactsRow {
  const details = [
    target ?? `target ${unknown}`,
    gpu.memoryMiB === null ? null : `${gpu.memoryMiB} MiB`,
    gpu.partition,
    gpu.sramecc === true ? "sramecc" : null,
    gpu.integrated === true ? "integrated" : null,
    bus,
    ...placeWords(gpu, linkNames.amd),
  ].filter((part) => part !== null);
  return [`amd ${index}`, `${name ?? pci ?? unknown}: ${details.join(", ")}`];
}
