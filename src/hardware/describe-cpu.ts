/** CPU marches as printable tables. */

import { linuxName } from "./cpu-features.ts";
import { allMarches, findMarch, type March } from "./cpu-marches.ts";
import { type ReportTable, reportTable } from "./hardware-report.ts";

/** All marches; one march with its features; or the marches that need a feature, by its Linux or its compiler's name. */
export function describeCpu(name?: string): readonly ReportTable[] {
  const marches = allMarches();
  if (name === undefined) return marchTable(marches);
  const march = findMarch(name);
  if (march !== null) return [...marchTable([march]), ...featureTable(march)];
  const feature = linuxName(name);
  return marchTable(marches.filter((each) => each.features.includes(feature)));
}

function marchTable(marches: readonly March[]): readonly ReportTable[] {
  return reportTable(
    "marches",
    "CPU microarchitectures and levels",
    marches.map((march) => ({
      name: march.name,
      architecture: march.architecture,
      vendor: march.vendor,
      option: `-${march.option}=${march.compilerName}`,
      gcc: march.compiler.gcc,
      clang: march.compiler.clang,
      features: march.features,
      note: march.note ?? null,
      source: march.source,
    })),
  );
}

function featureTable(march: March): readonly ReportTable[] {
  const features = [...new Set([...march.required, ...march.optional])].sort();
  return reportTable(
    "features",
    `Features of ${march.name}`,
    features.map((feature) => ({
      feature,
      use: march.required.includes(feature) ? "emitted by the compiler" : "behind a macro",
      needed: march.features.includes(feature) ? "yes" : "no",
      source: march.source,
    })),
  );
}
