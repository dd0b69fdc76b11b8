/** Selects the tables of AMD's GPUs and of ROCm, or their rows about one name. */

import { amdArchitectures, amdGenerics } from "../../hardware/amd-architectures.ts";
import { amdDrivers } from "../../hardware/amd-drivers.ts";
import { amdProducts } from "../../hardware/amd-products.ts";
import { type ReportTable, reportTable } from "./report-table.ts";
import { isRocmRelease, rocmCompiles, rocmTargets } from "../../hardware/rocm-releases.ts";

/** All targets and drivers, the targets that a release compiles, or one driver, by the driver's name or the module's version. */
export function rocmTables(name?: string): readonly ReportTable[] {
  const isRelease = name !== undefined && isRocmRelease(name);
  const targets = rocmTargets.filter(
    (row) => name === undefined || (isRelease && rocmCompiles(name, row.name).compiles === true),
  );
  const drivers = amdDrivers.filter(
    ({ driver, module }) => name === undefined || name === driver || name === module,
  );
  return [
    ...reportTable(
      "rocm",
      "ROCm releases whose compiler has a GPU target",
      ["target", "first", "lacking", "dropped", "note"],
      targets.map((row) => ({ ...row, target: row.name })),
    ),
    ...reportTable(
      "amd-drivers",
      "AMD's drivers, and the ROCm releases that AMD names for them",
      ["driver", "module", "oldest", "newest", "note"],
      drivers,
    ),
  ];
}

/** All targets, or what a target, a generic target, a PCI id or a product selects. */
export function amdGpuTables(name?: string): readonly ReportTable[] {
  const [target] = name?.split(":") ?? [];
  const wanted = name?.toLowerCase() ?? "";
  const products = amdProducts.filter(
    ({ id, names }) =>
      name !== undefined && (id === wanted || names.some((each) => each.toLowerCase().includes(wanted))),
  );
  const found = new Set(products.map((each) => each.target));
  const targets = amdArchitectures.filter(
    (row) => name === undefined || row.name === target || row.generic === target || found.has(row.name),
  );
  const generics = amdGenerics.filter(
    (row) => name === undefined || targets.some(({ generic }) => generic === row.name),
  );
  return [
    ...reportTable("amd-products", "GPU products of AMD", ["id", "target", "names"], products),
    ...reportTable(
      "amd-targets",
      "GPU targets of AMD",
      ["target", "family", "generic", "integrated", "features", "note"],
      targets.map((row) => ({
        ...row,
        target: row.name,
        integrated: row.integrated === null ? null : row.integrated ? "yes" : "no",
        features: (["xnack", "sramecc"] as const).filter((feature) => row[feature] === true),
      })),
    ),
    ...reportTable(
      "amd-generics",
      "Generic GPU targets of AMD",
      ["generic", "version", "members", "note"],
      generics.map(({ name: generic, ...row }) => ({
        ...row,
        generic,
        members: amdArchitectures.flatMap((each) => (each.generic === generic ? each.name : [])),
      })),
    ),
  ];
}
