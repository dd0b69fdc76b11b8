/** Machine types as a printable table. */

import { machineTypes } from "./machine-types.ts";
import { type ReportTable, reportTable } from "./hardware-report.ts";

/** All of them, those of a catalog (`aws`), or those whose name has this text. */
export async function describeMachine(name?: string): Promise<readonly ReportTable[]> {
  const known = await machineTypes();
  const wanted = name?.toLowerCase();
  const named = known.filter(
    (type) => wanted === undefined || type.catalog === wanted || type.name.toLowerCase().includes(wanted),
  );
  return reportTable(
    "machines",
    "Machine types",
    named.map(({ catalog, name: type, platform, gpu, compute, gpus, cpu, capture, alike, source }) => ({
      name: type,
      catalog,
      platform,
      gpus: `${gpus} ${gpu}`,
      compute,
      cpu: cpu ?? capture?.model ?? null,
      cpuFeatures: capture === null ? "unknown" : alike === true ? `as on ${capture.on}` : "captured",
      source,
    })),
  );
}
