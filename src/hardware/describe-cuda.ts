/** CUDA toolkits, driver branches and forward-compatibility packages as printable tables. */

import { branchRows } from "./cuda-branch-table.ts";
import {
  type CudaToolkit,
  cudaToolkits,
  driverFloor,
  findToolkit,
  supportedTargets,
} from "./cuda-toolkits.ts";
import { compatPackages } from "./forward-compat.ts";
import { type ReportTable, reportTable } from "./hardware-report.ts";
import { parseDriverVersion } from "./driver-version.ts";

/** All tables, or those rows that a toolkit (`12.8`, `12.8.1`) or a driver (`570.124.06`, `570`) selects. */
export function describeCuda(name?: string): readonly ReportTable[] {
  if (name === undefined) return tables(cudaToolkits, branchRows, compatPackages());
  const toolkits = cudaToolkits.filter(
    (row) => row.release === name || row.printedAs === name || row.minor === name,
  );
  if (toolkits.length > 0) {
    const minor = findToolkit(name)?.minor ?? name;
    return tables(
      toolkits,
      branchRows.filter((row) => row.cuda === minor),
      compatPackages().filter((row) => row.cuda === minor),
    );
  }
  const branch = parseDriverVersion(name)?.parts[0];
  return tables(
    [],
    branchRows.filter((row) => row.branch === branch),
    [],
  );
}

function tables(
  toolkits: readonly CudaToolkit[],
  branches: typeof branchRows,
  packages: ReturnType<typeof compatPackages>,
): readonly ReportTable[] {
  return [
    ...reportTable("toolkits", "CUDA toolkits", toolkits.map(toolkitRow)),
    ...reportTable(
      "branches",
      "CUDA version by driver branch",
      branches.map(({ branch, cuda, source, note = null }) => ({ branch, cuda, note, source })),
    ),
    ...reportTable(
      "packages",
      "Forward-compatibility packages",
      packages.map(({ package: name, cuda, libcuda, branches, enforced, source }) => ({
        package: name,
        cuda,
        libcuda,
        branches,
        enforced,
        source,
      })),
    ),
  ];
}

function toolkitRow(toolkit: CudaToolkit) {
  const floor = driverFloor(toolkit);
  const targets = supportedTargets(toolkit.minor);
  return {
    release: toolkit.release,
    stage: toolkit.stage,
    floor: floor?.minimum ?? null,
    minimumDriver: toolkit.minimumDriver,
    bundledDriver: toolkit.bundledDriver,
    targets: targets === null ? null : [...targets.sm.map(String), ...targets.specific],
    note: toolkit.note ?? null,
    source: [...new Set([...toolkit.source, ...(floor?.source ?? []), ...(targets?.source ?? [])])],
  };
}
