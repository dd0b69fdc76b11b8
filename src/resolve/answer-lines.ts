/** Writes the lines beside an answer: without them a second best would be taken for the best. */

import type { HostFacts } from "../facts/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { countsAlways, isBroken, vendorOfProblem } from "./host-view.ts";
import { listSome } from "./misfit.ts";
import { checkPins, type Pins } from "./pins.ts";
import { checkUnderstood } from "./rules/image-rules.ts";
import type { Unasked } from "./unasked.ts";
import type { Resolution } from "./verdict.ts";

/**
 * Lines about faults of a host that still gets an answer: a CPU image must not come in silence if a GPU cannot be used, and an answer from the
 * labels of a Kubernetes node is no better than they are. Problems of a broken host have no lines: they are the answer.
 */
export function problemLines({ problems }: Pick<HostFacts, "problems">): readonly string[] {
  return (
    problems
      // An image for another vendor may be the answer beside broken AMD GPUs.
      .filter((problem) => !isBroken(problem) || !countsAlways[vendorOfProblem(problem)])
      .flatMap(({ code, message, fix }) => {
        const word = code === "HOST_LABELS_INCOMPLETE" ? "not proved" : code;
        return [`${word}: ${message}`, ...(fix === undefined ? [] : [`  fix: ${fix}`])];
      })
  );
}

/** A line about images that no host gets, because this imgmatch does not understand the requirement. The first stands for all. */
export function leftOutLines({ images }: Pick<Lock, "images">, pins: Pins = {}): readonly string[] {
  const leftOut = Object.entries(images).flatMap(([cell, { requires, axes }]) => {
    const found = checkUnderstood(requires);
    return found === null || checkPins(axes, pins) !== null ? [] : [{ cell, found }];
  });
  const others = leftOut.length > 1 ? `; ${leftOut.length - 1} more for the like` : "";
  return leftOut
    .slice(0, 1)
    .flatMap(({ cell, found: { code, message, fix } }) => [
      `left out: ${cell}: ${code}: ${message}${others}`,
      `  fix: ${fix}`,
    ]);
}

/** Lines about the choices that nobody asked for: unused GPUs, the image's libcuda, axes that nobody pinned. */
export function unaskedLines({
  match,
  unusedGpus,
  byPackage,
  openAxes = [],
  notes = [],
}: Unasked & Partial<Pick<Resolution, "match">>): readonly string[] {
  return [
    ...(match?.deprecated === undefined
      ? []
      : [
          `deprecated: ${match.cell}, from ${match.deprecated} on: ask the fleet's team for what replaces it`,
        ]),
    ...(unusedGpus === undefined ? [] : unusedLines(unusedGpus)),
    ...(byPackage === undefined
      ? []
      : [
          `forward: the driver is older, its forward-compatibility package ${byPackage} serves where it is loaded`,
        ]),
    ...openAxes.map(openLine),
    ...notes.map((text) => `note: ${text}`),
  ];
}

/** Of GPUs that an image without GPU code leaves unused. */
export function unusedWords(gpus: readonly string[]): string {
  const stay = gpus.length === 1 ? "stays" : "stay";
  return `unused: ${listSome(gpus, 2)} ${stay} without work: the image has no GPU code`;
}

function unusedLines({ gpus, nearest }: NonNullable<Resolution["unusedGpus"]>): readonly string[] {
  const head = unusedWords(gpus);
  if (nearest === null) return [head, "  the fleet has no image with GPU code for it"];
  const { cell, code, message, fix } = nearest;
  return [
    head,
    `  nearest with GPU code: ${cell}: ${code === null ? "" : `${code}: `}${message}`,
    `  fix: ${fix}`,
  ];
}

function openLine({ axis, value, others }: NonNullable<Resolution["openAxes"]>[number]): string {
  const fit = others.length === 1 ? "fits" : "fit";
  return `not pinned: ${axis}=${value} was taken, ${listSome(others, 8)} ${fit} too: --pin ${axis}=VALUE`;
}
