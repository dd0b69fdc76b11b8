/** Explains an answer: why the winner won, and what would make each other image fit. */

import { needsGpus, noGpus } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { isLabelled } from "../facts/host-problems.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { groupBy } from "../io/collections.ts";
import { printable } from "../printable.ts";
import { chosenNames } from "../lock/alternatives.ts";
import { describeCode } from "../resolve/describe-code.ts";
import { describeBy, describeMeasured } from "../resolve/describe-measured.ts";
import { suggestCell } from "../resolve/suggest-cell.ts";
import { answerOfHost, type BySideOfHost, type HostView, usableGpus } from "../resolve/host-view.ts";
import { findMisfits } from "../resolve/check-fit.ts";
import { listSome } from "../resolve/misfit.ts";
import { orderSteps } from "../resolve/order-steps.ts";
import { decisiveStep, explainOrder } from "../resolve/rank.ts";
import { immutableReferenceOf, type Ranking, rankImages } from "../resolve/resolve-image.ts";
import { fitOptions, type ResolveImageOptions } from "../resolve/resolve-options.ts";
import { packageOf } from "../resolve/rules/nvidia/compat-package.ts";
import { vendorsIn } from "../resolve/unasked.ts";
import type { Fit, Misfit, ReasonCode } from "../resolve/verdict.ts";
import { tierWords } from "../resolve/tier-words.ts";

/** Lines for `resolve --explain`. Throws as `resolveImage` does. */
export function explainResolution(lock: Lock, host: HostFacts, options: ResolveImageOptions = {}): string[] {
  return explainRanking(lock, host, rankImages(lock, host, options), options);
}

/** The same for a ranking that is there. */
export function explainRanking(
  lock: Lock,
  host: HostFacts,
  ranking: Ranking,
  options: ResolveImageOptions,
): string[] {
  const { view } = ranking;
  const rejected = findAllMisfits(lock, view, ranking, options);
  return [
    ...describeHost(view, vendorsIn(lock)),
    ...explainWinner(lock, host, ranking),
    ...explainOthers(ranking),
    ...explainRejected(lock, view, rejected),
    ...explainGap(lock, view, ranking, rejected),
  ].map(printable);
}

const describeSide: BySideOfHost<readonly string[], [otherProblems: readonly HostProblem[]]> = {
  nvidia: ({ driverText, cuda, gpus }, otherProblems) => [
    driverText === null
      ? `an NVIDIA device and no ${isLabelled(otherProblems) ? "label that names its driver" : "NVIDIA driver"}`
      : `NVIDIA driver ${driverText}, CUDA ${cuda?.text ?? "unknown"}`,
    ...gpus.map(
      ({ label, compute }) =>
        `${label}, compute capability ${compute === null ? "unknown" : `${compute.major}.${compute.minor}`}`,
    ),
  ],
  amd: ({ driver, hasDriver, gpus, besides }) => [
    hasDriver
      ? `AMD driver ${driver === null ? "amdgpu of the kernel" : `amdgpu ${driver.text}`}`
      : "an AMD GPU and no amdgpu driver",
    ...gpus.map(({ label, target }) => `${label}, ${target ?? "target unknown"}`),
    ...besides.map(
      ({ label, target }) => `${label}, ${target ?? "target unknown"}, of the processor: left out`,
    ),
  ],
};

function describeHost(view: HostView, vendors: readonly GpuVendor[]): string[] {
  const { platform, cpu, unknownGpuFacts, broken, otherProblems } = view;
  const unknownFacts = vendors.flatMap((vendor) => unknownGpuFacts[vendor]);
  const lines = [
    `host: ${platform}, CPU ${cpu.level ?? "level unknown"}${cpu.model === null ? "" : ` (${cpu.model})`}`,
    ...(unknownFacts.length > 0 ? [`      unknown: ${unknownFacts.join(", ")}`] : []),
    ...gpuVendors
      .filter((vendor) => vendors.includes(vendor) || (view[vendor]?.gpus.length ?? 0) > 0)
      .flatMap((vendor) => answerOfHost(describeSide, vendor, view, otherProblems) ?? [])
      .map((line) => `      ${line}`),
  ];
  const problemLines = (word: string, { code, message, fix }: HostProblem) => [
    `      ${word}: ${code}: ${message}`,
    ...(fix === undefined ? [] : [`        fix: ${fix}`]),
  ];
  return [
    ...lines,
    ...broken.flatMap((problem) => problemLines("broken", problem)),
    ...otherProblems.flatMap((problem) => problemLines("problem", problem)),
  ];
}

function explainWinner(lock: Lock, host: HostFacts, { ranked, order }: Ranking): string[] {
  const [winner, next] = ranked;
  if (winner === undefined) return ["match: none"];
  const { fit, image } = winner;
  const tier = tierWords(fit.tier, packageOf(fit, fit.as ?? image.requires));
  const how = [...byLine(fit), ...tier, ...describeCode(fit.code, host)].join(", ");
  const lines = [
    `match: ${winner.cell}`,
    `  ${immutableReferenceOf(lock, image)}`,
    ...describedAs(image),
    ...(how === "" ? [] : [`  ${how}`]),
  ];
  if (next === undefined) return [...lines, "  the only image that fits"];
  const reason = explainOrder(order, winner, next);
  lines.push(`  beats ${next.cell} by ${reason}`);
  // A tag says nothing about hardware: the user left a free axis open.
  const unpinned = Object.keys(winner.image.axes).filter(
    (axis) => winner.image.axes[axis] !== next.image.axes[axis],
  );
  if (reason.startsWith("tag:") && unpinned.length > 0)
    lines.push(`  nothing but the tag tells them apart: pin ${unpinned.join(" or ")} to choose`);
  return lines;
}

function byLine({ as }: Fit): readonly string[] {
  return as === undefined ? [] : describeBy(chosenNames(as));
}

function describedAs(image: LockedImage): readonly string[] {
  const measured = describeMeasured(image);
  return measured === null ? [] : [`  ${measured}`];
}

function explainOthers({ ranked, order }: Ranking): string[] {
  const [winner, ...others] = ranked;
  if (winner === undefined || others.length === 0) return [];
  // Tags are all different: the first of the group stands for all.
  const groups = groupBy(others, (other) =>
    decisiveStep(order, winner, other) === orderSteps.tag ? "tag" : explainOrder(order, winner, other),
  );
  return [
    `fit too, and lost: ${others.length}`,
    ...[...groups.values()].map(
      (group) =>
        `  ${countCells(group.map(({ cell }) => cell))}: ${explainOrder(order, winner, group[0] ?? winner)}`,
    ),
  ];
}

function explainRejected(lock: Lock, view: HostView, rejected: readonly Rejected[]): string[] {
  if (rejected.length === 0) return [];
  // A broken host is broken for every image, and has one line for all images: see explainBroken.
  const withOthers = rejected.map(({ cell, misfits }) => ({
    cell,
    misfits: misfits.filter(({ code }) => code !== "HOST_BROKEN"),
  }));
  const groups = groupBy(
    withOthers.filter(({ misfits }) => misfits.length > 0),
    ({ misfits }) => misfits.map(({ code, message }) => `${code} ${message}`).join("\n"),
  );
  return [
    `do not fit: ${rejected.length}`,
    ...explainBroken(lock, view, rejected),
    ...[...groups.values()].flatMap((group) => [
      `  ${countCells(group.map(({ cell }) => cell))}`,
      ...(group[0]?.misfits ?? []).flatMap(({ code, message, fix }) => [
        `    ${code}: ${message}`,
        `      fix: ${fix}`,
      ]),
    ]),
  ];
}

function explainBroken(lock: Lock, { broken }: HostView, rejected: readonly Rejected[]): string[] {
  const cells = rejected
    .filter(({ misfits }) => misfits.some(({ code }) => code === "HOST_BROKEN"))
    .map(({ cell }) => cell);
  if (cells.length === 0) return [];
  const codes = [...new Set(broken.map(({ code }) => code))];
  const cpu = cells.some((cell) => !needsGpus(lock.images[cell]?.requires ?? noGpus));
  return [
    `  ${countCells(cells)}`,
    `    HOST_BROKEN: ${codes.join(", ")}: see the host above`,
    `      fix: repair the host${cpu ? "; to run without the GPUs, ask for a CPU image (--cpu)" : ""}`,
  ];
}

interface Rejected {
  readonly cell: string;
  readonly misfits: readonly Misfit[];
}

function findAllMisfits(
  lock: Lock,
  view: HostView,
  { rejected }: Ranking,
  options: ResolveImageOptions,
): readonly Rejected[] {
  const judge = fitOptions(lock, options);
  return rejected.flatMap(({ cell }) => {
    const image = lock.images[cell];
    return image === undefined ? [] : [{ cell, misfits: findMisfits(image, view, judge) }];
  });
}

/** A fleet has a gap if a host with GPUs finds no image with GPU code, or any host finds none. */
function explainGap(
  lock: Lock,
  view: HostView,
  { ranked }: Ranking,
  rejected: readonly Rejected[],
): string[] {
  const [winner] = ranked;
  const gpus = usableGpus(view, vendorsIn(lock)).length > 0;
  if (winner !== undefined && (!gpus || needsGpus(winner.image.requires))) return [];
  // A wish of the user or a missing build is no gap of the fleet.
  const isChosen = rejected.some(
    ({ cell, misfits }) =>
      misfits.every(({ code }) => isChoice(code)) &&
      (winner === undefined || needsGpus(lock.images[cell]?.requires ?? noGpus)),
  );
  if (isChosen) return [];
  const suggestion = view.broken.length > 0 ? null : suggestCell(view, lock);
  return suggestion === null ? [] : [`to serve this host: ${suggestion}`];
}

function isChoice(code: ReasonCode): boolean {
  return code === "PIN_MISMATCH" || code === "NOT_BUILT" || code === "NOT_PUSHED";
}

function countCells(cells: readonly string[]): string {
  return cells.length === 1 ? (cells[0] ?? "") : `${cells.length} images: ${listSome(cells, 3)}`;
}
