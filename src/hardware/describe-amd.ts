/** The tables of AMD's GPUs and of ROCm, whole or about one name. */

import { amdArchitectures, amdGenerics } from "./amd-architectures.ts";
import { amdDrivers } from "./amd-drivers.ts";
import { amdProducts } from "./amd-products.ts";
import { columnsOf, type ReportTable, reportTable } from "./report-table.ts";
import { isRocmRelease, rocmCompiles, rocmTargets } from "./rocm-releases.ts";

/** Targets and drivers: all of them, the targets that a release compiles, or one driver, by its name or its module's version. */
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
      columnsOf(
        targets.map(({ name, ...row }) => ({ target: name, ...row })),
        ...(["target", "first", "lacking", "dropped", "note"] as const),
      ),
    ),
    ...reportTable(
      "amd-drivers",
      "AMD's drivers, and the ROCm releases that AMD names for them",
      columnsOf(drivers, "driver", "module", "oldest", "newest", "note"),
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
    ...reportTable("amd-products", "GPU products of AMD", columnsOf(products, "id", "target", "names")),
    ...reportTable(
      "amd-targets",
      "GPU targets of AMD",
      targets.map(({ name: code, family, integrated, generic, xnack, sramecc, note = null, source }) => ({
        target: code,
        family,
        generic,
        integrated: yesOrNo(integrated),
        features: [...(xnack === true ? ["xnack"] : []), ...(sramecc === true ? ["sramecc"] : [])],
        note,
        source,
      })),
    ),
    ...reportTable(
      "amd-generics",
      "Generic GPU targets of AMD",
      generics.map(({ name: generic, version, note = null, source }) => ({
        generic,
        version,
        members: amdArchitectures.flatMap((row) => (row.generic === generic ? row.name : [])),
        note,
        source,
      })),
    ),
  ];
}

function yesOrNo(value: boolean | null): string | null {
  return value === null ? null : value ? "yes" : "no";
}
