/** Rows of a cover in a few words each, for a terminal and for Markdown. */

import type { ClassDescription, ClassMatch, Cover, CoveredClass } from "../cover/cover.ts";
import type { CoverChange } from "../cover/compare-covers.ts";
import type { CoveredImage } from "../cover/image-use.ts";
import type { Suggestion } from "../cover/suggestion.ts";
import { listSome } from "../resolve/misfit.ts";
import { count } from "./table.ts";

export const classHeads = ["hosts", "class", "GPU", "driver", "CPU", "image", "how"] as const;

export function classRow({ id, hosts, host, match, unusedGpus }: CoveredClass): readonly string[] {
  return [
    String(hosts),
    id,
    gpuWords(host),
    host.driver ?? "-",
    cpuWords(host),
    match?.cell ?? "none",
    [
      ...(unusedGpus ? ["GPUs unused"] : []),
      ...(match === null ? [] : [matchWords(match)]),
      ...host.problems.filter(isShort),
    ]
      .filter(Boolean)
      .join(", ") || "-",
  ];
}

/** What labels leave open is said by every node of a cluster. */
function isShort(code: string): boolean {
  return code !== "HOST_LABELS_INCOMPLETE";
}

/** `H100 80GB HBM3 (9.0)`, of several kinds `8.6, 9.0`. */
export function gpuWords({ gpus, products }: ClassDescription): string {
  if (gpus.length === 0) return "-";
  const computes = [...new Set(gpus.map(({ compute }) => compute ?? "unknown"))].join(", ");
  const names = products.map((name) => name.replace(/^NVIDIA /, ""));
  return names.length === 0 ? computes : `${listSome(names, 2)} (${computes})`;
}

export function cpuWords({ platform, nativeMarch, level }: ClassDescription): string {
  const cpu = nativeMarch ?? level ?? "unknown CPU";
  return platform === "linux/amd64" ? cpu : `${cpu} (${platform})`;
}

/** `native`, or what keeps it from being that. */
export function matchWords({ tier, native, gpu, cpu }: ClassMatch): string {
  if (native === true) return gpu === null ? "native" : `native, ${gpu.target}`;
  return [
    ...(tier === "native" ? [] : [tier === "minor" ? "older driver" : "forward compatibility"]),
    ...(gpu === null ? [] : [codeWords(gpu)]),
    ...(cpu === null
      ? ["CPU distance unknown"]
      : cpu.unused.length === 0
        ? []
        : [`${cpu.march}, ${count(cpu.unused.length, "CPU feature")} unused`]),
  ].join(", ");
}

function codeWords({ target, kind, distance }: NonNullable<ClassMatch["gpu"]>): string {
  if (kind === "ptx") return `${target}, compiled by the driver`;
  return distance === 0 ? target : `${target}, ${count(distance, "minor")} behind`;
}

export function headline({ fleet, counts }: Cover): string {
  const { name, version, from } = fleet;
  const hosts = `${count(counts.hosts, "host")} in ${classCount(counts.classes)}`;
  return `${name} ${version} (${from}): ${hosts}, ${count(counts.images, "image")}`;
}

export function classCount(number: number): string {
  return `${number} class${number === 1 ? "" : "es"}`;
}

export function summary({ counts }: Pick<Cover, "counts">): string {
  const { native, served, unserved, unusedGpus, unusedImages } = counts;
  return [
    `${native} of ${counts.hosts} get native code`,
    `${served - native} get something else`,
    `${unserved} get nothing`,
    ...(unusedGpus === 0 ? [] : [`${count(unusedGpus, "host")} with unused GPUs`]),
    ...(unusedImages === 0 ? [] : [`${count(unusedImages, "image")} nobody gets`]),
  ].join(", ");
}

/** Classes of which more is to be said than a row has room for. */
export function lackingClasses({ classes }: Pick<Cover, "classes">): readonly CoveredClass[] {
  return classes.filter(({ match, unusedGpus }) => match === null || unusedGpus);
}

/** Who they are, what is nearest, and what would serve them, a line each. */
export function lackLines({ names, nearest, serve }: CoveredClass): readonly string[] {
  return [
    listSome(names, 4),
    ...(nearest === null ? [] : [`nearest: ${nearest.cell}`]),
    ...(nearest?.reasons.flatMap(({ code, message, fix }) => [`  ${code}: ${message}`, `  fix: ${fix}`]) ??
      []),
    ...(serve === null ? [] : [`what would serve it: ${serve}`]),
  ];
}

/** What to have, and why fewer do not do. */
export function suggestionHead({ cells, native, served, proof }: Suggestion): readonly string[] {
  return [
    `${count(cells.length, "cell")}: ${count(native, "host")} with native code, ${served - native} with something else`,
    proof,
  ];
}

export function suggestionRow({
  cell,
  hosts,
  classes,
  planned,
}: Suggestion["cells"][number]): readonly string[] {
  return [cell, count(hosts, "host"), listSome(classes, 6), planned ? "planned" : "new"];
}

/** Why nobody gets an image. */
export function idleWords({ fits, alwaysBeatenBy, beatenBy, misfit }: CoveredImage): string {
  if (fits > 0) {
    const [better] = alwaysBeatenBy;
    return better === undefined
      ? `runs on ${count(fits, "host")}, which get ${listSome(beatenBy, 3)}`
      : `runs on ${count(fits, "host")}, where ${better} always comes first`;
  }
  return misfit === null ? "runs on no host" : `runs on no host: ${misfit.code}: ${misfit.message}`;
}

export function changeWords({ before, after }: CoverChange): string {
  const shown = (match: CoverChange["before"]) =>
    match === null ? "nothing" : `${match.cell} (${match.tier})`;
  return `${shown(before)} → ${shown(after)}`;
}
