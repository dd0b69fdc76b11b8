/**
 * The steps of the order among images that fit. A step gives each image a key, and the lower key is the better image. Keys are compared part by
 * part and step by step, so that the order is total, however a lock reorders the steps.
 */

import { answerOfSide, needsGpus, releaseOf, sidesOf, vendorsOf } from "../lock/requirement.ts";
import { gpuVendors, vendorNames } from "../hardware/gpu-vendors.ts";
import { parseVersion } from "../hardware/driver-version.ts";
import type { LockedImage } from "../lock/lock.ts";
import { ignoresMarch } from "../lock/needed-requirement.ts";
import { type CodeFit, codeKinds, type CpuShare, type Fit, type Tier, tiers } from "./verdict.ts";

/** The part of an image that the order reads. */
export type OrderedImage = Pick<LockedImage, "axes" | "requires" | "measured" | "tag">;

/** One item of the order. */
export interface Ordered {
  readonly cell: string;
  readonly image: OrderedImage;
  readonly fit: Fit;
}

/** An image of a lock that fits. Of an image with several variants of a kind, the variant that the host takes. */
export interface Candidate extends Ordered {
  readonly image: LockedImage;
}

/** Numbers and texts, compared part by part. A missing part is 0. One place holds one kind of part in all keys of a step. */
export type SortKey = readonly (number | string)[];

/**
 * `of` names the source of a step's key, so that scripts and labels derive it from the same statement: the image and its tier; the code of each
 * GPU, of which the worst counts; or the number of the image's targets that are used.
 */
export type OrderStep = {
  readonly name: string;
  /** The key for people. */
  readonly show: (candidate: Ordered) => string;
} & (
  | { readonly of: "image"; readonly key: (image: OrderedCandidate) => SortKey }
  /** null for an image without GPU code. */
  | { readonly of: "worst code"; readonly key: (code: CodeFit | null) => SortKey }
  | { readonly of: "used targets"; readonly key: (image: OrderedImage, used: number) => SortKey }
);

/** The part of a candidate that is the same on every host of this tier. */
export interface OrderedCandidate {
  readonly cell: string;
  readonly image: OrderedImage;
  readonly tier: Tier;
  readonly builtFor: CpuShare;
}

const driverShown: Readonly<Record<Tier, string>> = {
  native: "knows it",
  minor: "older",
  forward: "older, with a package",
};

/** The default order. Images that the user's pins do not match are no candidates. */
export const orderSteps = {
  gpu: {
    name: "GPU before CPU",
    of: "image",
    key: ({ image }) => [needsGpus(image.requires) ? 0 : 1],
    show: ({ image }) => (needsGpus(image.requires) ? "GPU code" : "no GPU code"),
  },
  vendor: {
    name: "NVIDIA before AMD",
    of: "image",
    key: ({ image }) => {
      const [vendor] = vendorsOf(image.requires);
      return [vendor === undefined ? gpuVendors.length : gpuVendors.indexOf(vendor)];
    },
    show: ({ image }) => {
      const [vendor] = vendorsOf(image.requires);
      return vendor === undefined ? "none" : vendorNames[vendor];
    },
  },
  code: {
    name: "code closer to the GPU",
    of: "worst code",
    key: codeKey,
    show: ({ fit }) => showWorstCode(fit),
  },
  tier: {
    name: "driver that knows the toolkit",
    of: "image",
    key: ({ tier }) => [tiers.indexOf(tier)],
    show: ({ fit }) => driverShown[fit.tier],
  },
  toolkit: {
    name: "newer toolkit",
    of: "image",
    key: ({ image }) => (parseVersion(toolkitOf(image) ?? "0") ?? [0]).map((part) => -part),
    show: ({ image }) => toolkitOf(image) ?? "none",
  },
  cpu: {
    name: "more CPU features",
    of: "image",
    // Of two images that use the CPU equally, the image with the smaller other needs wins.
    key: ({ image, builtFor: { emitted, features } }) => [
      -emitted,
      -features,
      image.requires.cpu.features.length,
    ],
    show: ({ image, fit }) => showCpu(image, fit.builtFor.features),
  },
  targets: {
    name: "fewer unused GPU targets",
    of: "used targets",
    key: (image, used) => [countUnused(image, used)],
    show: ({ image, fit }) => String(countUnused(image, countUsed(fit))),
  },
  tag: {
    name: "tag",
    of: "image",
    // No two images of a lock have one tag. Cells decide outside a lock.
    key: ({ image, cell }) => [image.tag, cell],
    show: ({ image }) => image.tag,
  },
} as const satisfies Record<string, OrderStep>;

function toolkitOf({ requires }: OrderedImage): string | undefined {
  const [side] = sidesOf(requires);
  return side === undefined ? undefined : answerOfSide(releaseOf, side);
}

/** The images of one value of an axis before all others. */
export function preferredValue(axis: string, value: string): OrderStep {
  return {
    name: `preferred ${axis}`,
    of: "image",
    key: ({ image }) => [image.axes[axis] === value ? 0 : 1],
    show: ({ image }) => image.axes[axis] ?? "none",
  };
}

export function keyOf(step: OrderStep, { cell, image, fit }: Ordered): SortKey {
  switch (step.of) {
    case "image":
      return step.key({ cell, image, tier: fit.tier, builtFor: fit.builtFor });
    case "worst code":
      return worstKey(fit.code.map(step.key)) ?? step.key(null);
    case "used targets":
      return step.key(image, countUsed(fit));
  }
}

export function compareKeys(a: SortKey, b: SortKey): number {
  const length = Math.max(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left = 0, right = 0] = [a[index], b[index]];
    // By code units, so that the order is the same in every language and on every machine.
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** The same text for keys that are equal. */
export function spellKey(key: SortKey): string {
  return key.slice(0, key.findLastIndex((part) => part !== 0) + 1).join("\0");
}

/** Compares keys step by step. */
export function compareAllKeys(a: readonly SortKey[], b: readonly SortKey[]): number {
  for (const [index, key] of a.entries()) {
    const difference = compareKeys(key, b[index] ?? []);
    if (difference !== 0) return difference;
  }
  return 0;
}

function worstKey(keys: readonly SortKey[]): SortKey | undefined {
  return keys.reduce<SortKey | undefined>(
    (worst, next) => (worst === undefined || compareKeys(next, worst) > 0 ? next : worst),
    undefined,
  );
}

/**
 * Code that the vendor does not support on this host comes after all other code. No code comes after any code: if it were equal to all, the
 * order would depend on the first comparison.
 */
function codeKey(code: CodeFit | null): SortKey {
  if (code === null) return [codeKinds.length];
  const kind = codeKinds.indexOf(code.kind);
  return code.unsupported ? [codeKinds.length - 1, 1 + kind] : [kind, code.distance];
}

function showCpu(image: OrderedImage, builtFor: number): string {
  const { march, features } = image.requires.cpu;
  const name = ignoresMarch(image) ? `${march}, of which its own files use none` : march;
  return builtFor === features.length
    ? `${builtFor} (${name})`
    : `${builtFor} of ${features.length} (${name})`;
}

function countUsed({ code }: Fit): number {
  return new Set(code.map(({ target }) => target)).size;
}

function countUnused({ requires }: OrderedImage, used: number): number {
  return new Set(sidesOf(requires)[0]?.needs.code ?? []).size - used;
}

function showWorstCode({ code: codes }: Fit): string {
  const keys = codes.map(codeKey);
  const worst = worstKey(keys);
  const code = worst === undefined ? undefined : codes[keys.indexOf(worst)];
  if (code === undefined) return "none";
  if (code.unsupported) return `${code.target} (${code.kind}, not supported on this kernel)`;
  return code.distance === 0
    ? `${code.target} (${code.kind})`
    : `${code.target} (${code.kind}, ${code.distance} away)`;
}
