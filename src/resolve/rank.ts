/** The total order among the images that fit. Named steps, so that an answer can say which one decided. */

import { ImgmatchError } from "../errors.ts";
import { compareVersions, parseVersion } from "../hardware/version.ts";
import type { LockedImage } from "../lock/lock.ts";
import { codeKinds } from "./rules/gpu-code.ts";
import { type CodeFit, type Fit, tiers } from "./verdict.ts";

/** An image that fits, with its place in the lock. */
export interface Candidate {
  readonly cell: string;
  readonly image: LockedImage;
  readonly fit: Fit;
  readonly keys: SortKeys;
}

/** What the comparisons look at, worked out once: a lock of thousands is compared a hundred thousand times. */
interface SortKeys {
  /** The code of the GPU that is served worst; null for a CPU image. */
  readonly worst: CodeFit | null;
  readonly toolkit: readonly number[];
  readonly unused: number;
}

export function candidateOf(cell: string, image: LockedImage, fit: Fit): Candidate {
  return {
    cell,
    image,
    fit,
    keys: {
      worst: worstCode(fit),
      toolkit: parseVersion(image.requires.cuda?.toolkit ?? "0") ?? [0],
      unused: countUnused(image, fit),
    },
  };
}

export interface Comparator {
  readonly name: string;
  /** Negative when `a` is the better one. */
  readonly compare: (a: Candidate, b: Candidate) => number;
  /** What the comparison looks at, for people. */
  readonly show: (candidate: Candidate) => string;
}

/** The default order. The user's pins came before: what they do not match is no candidate. */
export const comparators = {
  gpu: {
    name: "GPU before CPU",
    compare: (a, b) => Number(b.image.requires.cuda !== null) - Number(a.image.requires.cuda !== null),
    show: ({ image }) => (image.requires.cuda === null ? "no GPU code" : "GPU code"),
  },
  code: {
    name: "code closer to the GPU",
    compare: (a, b) => compareCode(a.keys.worst, b.keys.worst),
    show: ({ keys }) => showCode(keys.worst),
  },
  tier: {
    name: "driver tier",
    compare: (a, b) => tiers.indexOf(a.fit.tier) - tiers.indexOf(b.fit.tier),
    show: ({ fit }) => fit.tier,
  },
  toolkit: {
    name: "newer toolkit",
    compare: (a, b) => compareVersions(b.keys.toolkit, a.keys.toolkit),
    show: ({ image }) => image.requires.cuda?.toolkit ?? "none",
  },
  cpu: {
    name: "more CPU features",
    compare: (a, b) => b.image.requires.cpu.features.length - a.image.requires.cpu.features.length,
    show: ({ image: { requires } }) => `${requires.cpu.features.length} (${requires.cpu.march})`,
  },
  targets: {
    name: "fewer unused GPU targets",
    compare: (a, b) => a.keys.unused - b.keys.unused,
    show: ({ keys }) => String(keys.unused),
  },
  tag: {
    name: "tag",
    compare: (a, b) => compareText(a.image.tag, b.image.tag) || compareText(a.cell, b.cell),
    show: ({ image }) => image.tag,
  },
} as const satisfies Record<string, Comparator>;

export type ComparatorName = keyof typeof comparators;

/**
 * The order with the preferred steps first. A preference is the name of a step (`toolkit`) or `axis=value`, which puts the
 * images of that value first. Throws `USAGE` for anything else.
 */
export function orderBy(prefer: readonly string[] = []): readonly Comparator[] {
  const first = prefer.map((name) => (isComparatorName(name) ? comparators[name] : preferValue(name)));
  return [...first, ...Object.values(comparators).filter((comparator) => !first.includes(comparator))];
}

export function compareCandidates(order: readonly Comparator[], a: Candidate, b: Candidate): number {
  for (const { compare } of order) {
    const difference = compare(a, b);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The first step that put `winner` before `other`. */
export function decisiveStep(order: readonly Comparator[], winner: Candidate, other: Candidate): Comparator {
  return order.find(({ compare }) => compare(winner, other) !== 0) ?? comparators.tag;
}

/** `newer toolkit: 12.8.1 before 12.4.1`. */
export function explainOrder(order: readonly Comparator[], winner: Candidate, other: Candidate): string {
  const step = decisiveStep(order, winner, other);
  return `${step.name}: ${step.show(winner)} before ${step.show(other)}`;
}

function worstCode({ code }: Fit): CodeFit | null {
  return code.reduce<CodeFit | null>(
    (worst, next) => (worst === null || compareCode(next, worst) > 0 ? next : worst),
    null,
  );
}

function compareCode(a: CodeFit | null, b: CodeFit | null): number {
  if (a === null || b === null) return 0;
  return codeKinds.indexOf(a.kind) - codeKinds.indexOf(b.kind) || a.distance - b.distance;
}

function showCode(code: CodeFit | null): string {
  if (code === null) return "none";
  return code.distance === 0
    ? `${code.target} (${code.kind})`
    : `${code.target} (${code.kind}, ${code.distance} away)`;
}

function countUnused({ requires }: LockedImage, { code }: Fit): number {
  return new Set(requires.cuda?.code ?? []).size - new Set(code.map(({ target }) => target)).size;
}

function preferValue(text: string): Comparator {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw new ImgmatchError({
      code: "USAGE",
      message: `prefer "${text}" is no step of the order`,
      fix: `use axis=value or one of: ${Object.keys(comparators).join(", ")}`,
    });
  }
  const [axis, value] = [text.slice(0, equals), text.slice(equals + 1)];
  const has = ({ image }: Candidate) => image.axes[axis] === value;
  return {
    name: `preferred ${axis}`,
    compare: (a, b) => Number(has(b)) - Number(has(a)),
    show: ({ image }) => image.axes[axis] ?? "none",
  };
}

function isComparatorName(name: string): name is ComparatorName {
  return Object.hasOwn(comparators, name);
}

/** By code units, so that the order is the same in every language and on every machine. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
