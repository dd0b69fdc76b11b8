/** Words of a cover's report, for the terminal, Markdown and the page. */

import type { ClassDescription, ClassMatch, Cover, CoveredClass } from "./cover-classes.ts";
import type { CoverChange } from "./compare-covers.ts";
import { type CoveredImage, reasonWords } from "./image-use.ts";
import type { FleetCost } from "./fleet-cost.ts";
import type { Counted, CoverReport } from "./cover-report.ts";
import type { Checked } from "./policies.ts";
import type { PullPlan, PullStep } from "./pull-plan.ts";
import type { Suggestion } from "./suggestion.ts";
import { listSome } from "../resolve/misfit.ts";
import { compareText, sum } from "../io/collections.ts";
import { sizeText } from "../io/size-text.ts";
import { codeText } from "../lock/packed-targets.ts";
import type { UnusedCode } from "./unused-code.ts";
import { count } from "../io/table.ts";

/** Stands apart from `none`, a value of axes. */
export const noImage = "no image";

export function classHeads(report: Counted): readonly string[] {
  return [`${nounOf(report)}s`, "class", "GPU", "driver", "CPU", "image", "how"];
}

export function classRow({ id, hosts, host, match, unusedGpus }: CoveredClass): readonly string[] {
  return [
    String(hosts),
    id,
    gpuWords(host),
    host.driver ?? "-",
    cpuWords(host),
    match?.cell ?? noImage,
    [
      ...(unusedGpus ? ["GPUs unused"] : []),
      ...(match === null ? [] : [matchWords(match)]),
      ...host.problems.filter(isNotable),
    ]
      .filter(Boolean)
      .join(", ") || "-",
  ];
}

/** False for problems that every labelled node, or every machine type, has. */
function isNotable(code: string): boolean {
  return code !== "HOST_LABELS_INCOMPLETE" && code !== "HOST_TYPE_INCOMPLETE";
}

/** `H100 80GB HBM3 (9.0)`; `8.6, 9.0` without names. */
export function gpuWords({ gpus, products }: ClassDescription): string {
  if (gpus.length === 0) return "-";
  const computes = [...new Set(gpus.map(({ compute }) => compute ?? "unknown"))].join(", ");
  const names = products.map((name) => name.replace(/^(NVIDIA|AMD) /, ""));
  return names.length === 0 ? computes : `${listSome(names, 2)} (${computes})`;
}

/** `x86-64+` if the march may be a higher one. */
export function cpuWords({ platform, nativeMarch, nativeUndecided, level }: ClassDescription): string {
  const cpu = `${nativeMarch ?? level ?? "unknown CPU"}${nativeUndecided ? "+" : ""}`;
  return platform === "linux/amd64" ? cpu : `${cpu} (${platform})`;
}

/** `native`, or the differences from native code. */
export function matchWords({ tier, native, gpu, cpu }: ClassMatch): string {
  if (native === true) return gpu === null ? "native" : `native, ${gpu.target}`;
  return [...driverWords(tier), ...(gpu === null ? [] : [codeWords(gpu)]), ...cpuDistanceWords(cpu)].join(
    ", ",
  );
}

function cpuDistanceWords(cpu: ClassMatch["cpu"]): readonly string[] {
  if (cpu === null) return ["CPU distance unknown"];
  const { march, unused, isUndecided } = cpu;
  if (unused.length === 0) return isUndecided ? [`${march}, more of the CPU unknown`] : [];
  return [`${march}, ${isUndecided ? "at least " : ""}${count(unused.length, "CPU feature")} unused`];
}

function codeWords({ target, kind, distance }: NonNullable<ClassMatch["gpu"]>): string {
  if (kind === "ptx") return `${target}, compiled by the driver`;
  if (kind === "spirv") return `${target}, compiled at the start`;
  return distance === 0 ? target : `${target}, ${count(distance, "minor")} behind`;
}

export function headline(report: Cover & Counted): string {
  const { fleet, counts } = report;
  const { name, version, from } = fleet;
  const classes = `${counts.classes} class${counts.classes === 1 ? "" : "es"}`;
  const hosts = `${count(counts.hosts, nounOf(report))} in ${classes}`;
  return `${name} ${version} (${from}): ${hosts}, ${count(counts.images, "image")}`;
}

export function nounOf({ hostsAre }: Counted): string {
  return hostsAre ?? "host";
}

export function summary({ counts }: Pick<Cover, "counts">, whom: Counted): string {
  const { native, served, unserved, unusedGpus, unusedImages, pinnedImages } = counts;
  return [
    `${native} of ${counts.hosts} get native code`,
    `${served - native} get something else`,
    `${unserved} get nothing`,
    ...(unusedGpus === 0 ? [] : [`${count(unusedGpus, nounOf(whom))} with unused GPUs`]),
    ...(unusedImages === 0 ? [] : [`${count(unusedImages, "image")} nobody gets`]),
    ...(pinnedImages === 0 ? [] : [`${count(pinnedImages, "image")} only with a pin`]),
  ].join(", ");
}

/** `12 images: 4.9 GB in the registry, 31.5 build minutes`. */
export function costWords(cost: FleetCost): string {
  return `${count(cost.images, "image")}: ${sizeWords(cost, " in the registry")}, ${timeWords(cost)}`;
}

/** `4.9 GB in the registry and 2 of unknown size`. */
function sizeWords({ registryBytes: bytes, unsized }: FleetCost, where = ""): string {
  if (bytes === null) return `size${where} unknown`;
  const size = bytesWords(bytes);
  return unsized === 0 ? size + where : `${size}${where} and ${unsized} of unknown size`;
}

function timeWords({ buildMinutes, untimed }: FleetCost): string {
  if (buildMinutes === null) return "build minutes unknown";
  return `${buildMinutes} build minutes${untimed === 0 ? "" : ` and ${untimed} of unknown time`}`;
}

/** The cost of dropped images, and the hosts that lose native code. */
export function droppedWords(
  { dropped, notNative }: NonNullable<CoverReport["whatIf"]>,
  whom: Counted,
): readonly string[] {
  if (dropped.images === 0) return [];
  const lost = `${count(notNative.hosts, nounOf(whom))} without native code then`;
  const classes = notNative.classes.length === 0 ? "" : `: ${listSome(notNative.classes, 6)}`;
  return [
    `${count(dropped.images, "image")} less, ${sizeWords(dropped)} that only they have, ${lost}${classes}`,
  ];
}

/** The bytes of all pulls. */
export function pullHead({ steps, bytes, unknownHosts }: PullPlan, whom: Counted): string {
  const rest = unknownHosts === 0 ? "" : `, and ${count(unknownHosts, nounOf(whom))} of unknown size`;
  const most = steps.some(({ atMost }) => atMost) ? "at most " : "";
  return `to pull: ${most}${bytesWords(bytes)} in all${rest}`;
}

export function pullHeads(whom: Counted): readonly string[] {
  return [`${nounOf(whom)}s`, "class", "missing", "image", "there already", "reference"];
}

export function pullRow(step: PullStep): readonly string[] {
  const { missing, atMost, has, bytes } = step;
  const size = missing === null ? "unknown" : `${atMost ? "at most " : ""}${bytesWords(missing)}`;
  const whole = bytes === null ? "unknown" : bytesWords(bytes);
  return [String(step.names.length), step.class, size, whole, listSome(has, 2) || "-", step.reference];
}

function bytesWords(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The change of size and build time by a suggestion. */
function suggestionCost({ kept, dropped, added }: Suggestion["cost"]): string {
  const parts = [
    `of the plan's cells ${kept.images} stay (${sizeWords(kept)})`,
    `${dropped.images} go (${sizeWords(dropped)} that only they have)`,
    `${added.images} are new${added.images === 0 ? "" : ` (${addedWords(added)})`}`,
  ];
  return parts.join(", ");
}

function addedWords(added: Suggestion["cost"]["added"]): string {
  if (added.after.length === 0) return "what they take is not known: no cell like them was built";
  const size = added.registryBytes === null ? sizeWords(added) : `at most ${sizeWords(added)}`;
  const time = added.buildMinutes === null ? timeWords(added) : `about ${timeWords(added)}`;
  return `${time}, ${size}, as ${count(added.after.length, "built cell")} let expect`;
}

/** Classes whose CPU features do not come from the host's kernel. */
export function sourceRows({ classes }: Pick<Cover, "classes">): readonly (readonly string[])[] {
  return classes.flatMap(({ id, host: { cpuSources } }) =>
    cpuSources.some((source) => !source.startsWith("/proc/")) ? [[id, listSome(cpuSources, 3)]] : [],
  );
}

/** Classes that get nothing, or leave GPUs unused. */
export function lackingClasses({ classes }: Pick<Cover, "classes">): readonly CoveredClass[] {
  return classes.filter(({ match, unusedGpus }) => match === null || unusedGpus);
}

/** The cure besides those of the nearest image, which come first. */
export function otherCure({ nearest, serve }: Pick<CoveredClass, "nearest" | "serve">): string | null {
  return nearest?.reasons.some(({ fix }) => serve?.endsWith(`: ${fix}`)) ? null : serve;
}

/** The hosts, the nearest image with the reasons against it, and a cell that would serve the hosts. */
export function lackLines({ names, nearest, serve }: CoveredClass): readonly string[] {
  const cell = otherCure({ nearest, serve });
  return [
    listSome(names, 4),
    ...(nearest === null ? [] : [`nearest: ${nearest.cell}`]),
    ...(nearest?.reasons.flatMap(({ code, message, fix }) => [`  ${code}: ${message}`, `  fix: ${fix}`]) ??
      []),
    ...(cell === null ? [] : [`${nearest === null ? "to serve it" : "or"}: ${cell}`]),
  ];
}

/** The cells of a suggestion, the proof, and the cost. */
export function suggestionHead(
  { cells, native, served, proof, cost }: Suggestion,
  whom: Counted,
): readonly string[] {
  return [
    `${count(cells.length, "cell")}: ${count(native, nounOf(whom))} with native code, ${served - native} with something else`,
    proof,
    suggestionCost(cost),
  ];
}

/** Classes without certain native code. */
export function suggestionNotes({ beyond, undecided, nothing }: Suggestion): readonly string[] {
  return [
    ...(beyond.length === 0
      ? []
      : [`native by no cell that can be built, so the nearest: ${beyond.join(", ")}`]),
    ...(undecided.length === 0 ? [] : [`native as far as the facts tell: ${undecided.join(", ")}`]),
    ...(nothing.length === 0 ? [] : [`no cell fits ${nothing.join(", ")}`]),
  ];
}

export function suggestionRow(
  { cell, hosts, classes, planned }: Suggestion["cells"][number],
  whom: Counted,
): readonly string[] {
  return [cell, count(hosts, nounOf(whom)), listSome(classes, 6), planned ? "planned" : "new"];
}

/** The reason why nobody gets an image. */
export function idleWords(
  { fits, pinned, alwaysBeatenBy, beatenBy, nearest }: CoveredImage,
  whom: Counted,
): string {
  const one = nounOf(whom);
  if (pinned > 0) return `the answer for ${count(pinned, one)} when its axes are pinned`;
  if (fits > 0) {
    const [better] = alwaysBeatenBy;
    return better === undefined
      ? `runs on ${count(fits, one)}, which get ${listSome(beatenBy, 3)}`
      : `runs on ${count(fits, one)}, where ${better} always comes first`;
  }
  if (nearest === null) return `runs on no ${one}`;
  return `runs on no ${one}, nearest is ${nearest.host}: ${reasonWords(nearest.reasons)}`;
}

export function unusedCodeHead(whom: Counted): string {
  return `code that no ${nounOf(whom)} uses`;
}

/** An image's unused code is code that no host uses of the hosts on which the image runs. The largest first. */
export function unusedCodeRows({ images }: Pick<Cover, "images">): readonly (readonly string[])[] {
  const found = images.flatMap(({ cell, code }) => (code === undefined ? [] : [{ cell, ...code }]));
  const total = ({ unused }: Pick<UnusedCode, "unused">) => sum(Object.values(unused));
  return found
    .filter((each) => total(each) > 0)
    .sort((a, b) => total(b) - total(a) || compareText(a.cell, b.cell))
    .map(({ cell, bytes, unused, packages }) => [
      cell,
      `${sizeText(total({ unused }))} of ${sizeText(bytes)}: ${sizesWords(unused)}`,
      Object.keys(packages).length === 0 ? "" : `whole packages: ${sizesWords(packages)}`,
    ]);
}

/** `sm_70 1.2 GB, sm_75 410.0 MB`, the largest first. */
function sizesWords(sizes: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(sizes).sort(([a, one], [b, other]) => other - one || compareText(a, b));
  return listSome(
    sorted.map(([name, bytes]) => `${codeText(name)} ${sizeText(bytes)}`),
    6,
  );
}

function driverWords(tier: ClassMatch["tier"]): readonly string[] {
  return tier === "native" ? [] : [tier === "minor" ? "older driver" : "forward compatibility"];
}

/** `no GPU host on a CPU image  looked at 4 hosts: c1, c3` */
export function checkedRows(checked: readonly Checked[], whom: Counted): readonly (readonly string[])[] {
  return checked.map(({ policy, hosts, of }) => {
    const isOfImages = hosts === 0 && of.length > 0;
    const looked = isOfImages ? count(of.length, "image") : count(hosts, nounOf(whom));
    return [policy, `looked at ${looked}${isOfImages || hosts === 0 ? "" : `: ${listSome(of, 6)}`}`];
  });
}

export function changeWords({ before, after }: CoverChange): string {
  const shown = (match: CoverChange["before"]) =>
    match === null
      ? "nothing"
      : [match.cell, ...driverWords(match.tier).map((words) => `(${words})`)].join(" ");
  return `${shown(before)} → ${shown(after)}`;
}
