/** Lines beside an answer: a quiet second best would be taken for the best. */

import type { HostFacts } from "../host/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { isBroken, vendorOfProblem } from "./host-view.ts";
import { listSome } from "./misfit.ts";
import { checkPins, type Pins } from "./pins.ts";
import { checkUnderstood } from "./rules/lock-entry.ts";
import type { Unasked } from "./unasked.ts";
import type { Resolution } from "./verdict.ts";

/**
 * Lines about faults of a host that still gets an answer: a CPU image for a machine whose GPU nobody can use must not come in silence, and
 * an answer from the labels of a Kubernetes node is no better than they are. A broken host's problem is the answer.
 */
export function problemLines({ problems }: Pick<HostFacts, "problems">): readonly string[] {
  return (
    problems
      // AMD's may be broken under an image that is not for them.
      .filter((problem) => !isBroken(problem) || vendorOfProblem(problem) === "amd")
      .flatMap(({ code, message, fix }) => {
        const word = code === "HOST_LABELS_INCOMPLETE" ? "not proved" : code;
        return [`${word}: ${message}`, ...(fix === undefined ? [] : [`  fix: ${fix}`])];
      })
  );
}

/** A line where images of a lock are left out on every host, as this imgmatch does not understand what they need: the first stands for all. */
export function leftOutLines({ images }: Pick<Lock, "images">, pins: Pins = {}): readonly string[] {
  const left = Object.entries(images).flatMap(([cell, { requires, axes }]) => {
    const found = checkUnderstood(requires);
    return found === null || checkPins(axes, pins) !== null ? [] : [{ cell, found }];
  });
  const others = left.length > 1 ? `; ${left.length - 1} more for the like` : "";
  return left
    .slice(0, 1)
    .flatMap(({ cell, found: { code, message, fix } }) => [
      `left out: ${cell}: ${code}: ${message}${others}`,
      `  fix: ${fix}`,
    ]);
}

/** Lines about the choices that nobody asked for: GPUs that stay unused, a libcuda of the image, axes that nobody pinned. */
export function unaskedLines({
  unusedGpus,
  byPackage,
  openAxes = [],
  notes = [],
}: Unasked): readonly string[] {
  return [
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

function unusedLines({ gpus, nearest }: NonNullable<Resolution["unusedGpus"]>): readonly string[] {
  const stay = gpus.length === 1 ? "stays" : "stay";
  const head = `unused: ${listSome(gpus, 2)} ${stay} without work: the image has no GPU code`;
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
