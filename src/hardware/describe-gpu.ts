/** GPU architectures and products as printable tables. */

import {
  compareComputeCapability,
  formatComputeCapability,
  parseComputeCapability,
} from "./compute-capability.ts";
import { type GpuArchitecture, gpuArchitectures } from "./gpu-architectures.ts";
import { findGpuByPci, searchGpus } from "./gpu-products.ts";
import { type GpuTarget, parseGpuTarget, targetRunsOn } from "./gpu-target.ts";
import { type ReportTable, reportTable } from "./hardware-report.ts";

/** All architectures, or what a compute capability, a target, a PCI id or a product selects. */
export async function describeGpu(name?: string): Promise<readonly ReportTable[]> {
  if (name === undefined) return architectureTable(gpuArchitectures);
  const compute = parseComputeCapability(name);
  if (compute !== null)
    return architectureTable(
      gpuArchitectures.filter((row) => compareComputeCapability(row.compute, compute) === 0),
    );
  const target = parseGpuTarget(name);
  if (target !== null) return targetTable(target);
  return describeProducts(name);
}

async function describeProducts(name: string): Promise<readonly ReportTable[]> {
  const byPci = await findGpuByPci(name);
  const products = byPci === null ? await searchGpus(name) : [byPci];
  const computes = new Set(products.map((product) => product.compute));
  return [
    ...reportTable(
      "products",
      "GPU products",
      products.map(({ name: product, compute, class: gpuClass, chip, source }) => ({
        name: product,
        compute,
        class: gpuClass,
        chip,
        source,
      })),
    ),
    ...architectureTable(
      gpuArchitectures.filter((row) => computes.has(formatComputeCapability(row.compute))),
    ),
  ];
}

function architectureTable(architectures: readonly GpuArchitecture[]): readonly ReportTable[] {
  return reportTable(
    "architectures",
    "GPU architectures",
    architectures.map((row) => ({
      compute: formatComputeCapability(row.compute),
      name: row.name,
      platform: row.platform,
      chips: row.chips,
      toolkits: `${row.firstToolkit} …${row.lastToolkit === null ? "" : ` ${row.lastToolkit}`}`,
      lastDriverBranch: row.lastDriverBranch,
      openModule: row.openModule,
      specific: Object.entries(row.specific).map(([target, toolkit]) => `${target} (${toolkit})`),
      note: row.note ?? null,
      source: row.source,
    })),
  );
}

/** Which devices run code of the target. */
function targetTable(target: GpuTarget): readonly ReportTable[] {
  const runs = gpuArchitectures.filter((row) => targetRunsOn(target, row.compute));
  return reportTable(
    "devices",
    "Devices that run this code",
    runs.map((row) => ({
      compute: formatComputeCapability(row.compute),
      name: row.name,
      platform: row.platform,
      source: target.suffix === "" ? (["PGBIN", "NVCC130"] as const) : (["PG", "NVCC130"] as const),
    })),
  );
}
