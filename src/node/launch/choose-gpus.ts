/** Chooses the GPUs of a container and the image together: on a mixed host one decides the other. */

import { ImgmatchError, usageError } from "../../errors.ts";
import { type Requirement, vendorsOf } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { HostFacts } from "../../facts/facts.ts";
import type { Lock } from "../../lock/lock.ts";
import { neededRequirement } from "../../lock/needed-requirement.ts";
import { groupBy } from "../../io/collections.ts";
import { orderSteps } from "../../resolve/order-steps.ts";
import { compareCandidates } from "../../resolve/rank.ts";
import {
  type Candidate,
  rankImages,
  type Ranking,
  type ResolveImageOptions,
} from "../../resolve/resolve-image.ts";
import { closestUnits } from "./gpu-pairs.ts";
import {
  allUnits,
  type GpuUnit,
  type GpuUse,
  isTaken,
  kindOf,
  namedUnits,
  narrowTo,
  traitsOf,
  unitsOf,
  useOf,
} from "./gpu-units.ts";
import { unsupported } from "./unsupported.ts";

export type GpuWish =
  /** Every visible GPU. An image without GPU code is an answer too. */
  | { readonly kind: "all" }
  | { readonly kind: "none" }
  /** A number of GPUs, whichever serve best. */
  | { readonly kind: "count"; readonly count: number }
  /** Certain GPUs, by {@link GpuUnit.name}. */
  | { readonly kind: "named"; readonly names: readonly string[] };

export interface ChoiceOptions extends ResolveImageOptions {
  /** Hand out GPUs that somebody uses. */
  readonly allowBusy?: boolean;
}

export type GpuChoice =
  | {
      readonly ok: true;
      readonly units: readonly GpuUnit[];
      /** The host with these units alone. */
      readonly host: HostFacts;
      /** The images for them, best first; `ranked` is empty when none fits. */
      readonly ranking: Ranking;
    }
  | {
      readonly ok: false;
      readonly wanted: number;
      readonly free: readonly GpuUnit[];
      readonly taken: readonly TakenUnit[];
    };

export interface TakenUnit {
  readonly unit: GpuUnit;
  readonly use: Exclude<GpuUse, "free" | "idle">;
}

/** The needs of an image on the host that it fits. Of an image's alternatives the best that the host meets counts. */
export function metRequirement({ image, fit }: Pick<Candidate, "image" | "fit">): Requirement {
  return fit.as ?? neededRequirement(image);
}

/** The vendor whose GPUs the image uses on the host. */
function usedVendor(candidate: Candidate): GpuVendor | undefined {
  return vendorsOf(metRequirement(candidate))[0];
}

/**
 * Picks GPUs that nobody uses, and the best image for the GPUs. Among images of one rank, the order is: equal GPUs, newer GPUs, linked GPUs,
 * GPUs of one NUMA node, lower numbers. It never picks a GPU of unknown use for a count: the GPU may be busy. Throws
 * `SELECTION_INVALID` for a name that no unit of the host has, and as `rankImages` does.
 *
 * @example
 * const choice = chooseGpus(lock, facts, { kind: "count", count: 2 });
 * if (choice.ok) console.log(choice.units.map(({ name }) => name), choice.ranking.ranked[0]?.cell);
 */
export function chooseGpus(
  lock: Lock,
  host: HostFacts,
  wish: GpuWish,
  { allowBusy = false, ...options }: ChoiceOptions = {},
): GpuChoice {
  const withUse = (unit: GpuUnit) => ({ unit, use: allowBusy ? ("free" as const) : useOf(unit) });
  const states = unitsOf(host).map(withUse);
  const taken = (all: readonly { readonly unit: GpuUnit; readonly use: GpuUse }[]) =>
    all.flatMap(({ unit, use }): TakenUnit[] => (isTaken(use) ? [{ unit, use }] : []));
  const take = (picked: readonly GpuUnit[]): GpuChoice => {
    const narrowed = narrowTo(host, picked);
    return { ok: true, units: picked, host: narrowed, ranking: rankImages(lock, narrowed, options) };
  };
  switch (wish.kind) {
    case "none":
      return take([]);
    case "all":
    case "named": {
      const wished = wish.kind === "all" ? states : statesNamed(allUnits(host).map(withUse), wish.names);
      const choice = take(wished.map(({ unit }) => unit));
      const [winner] = choice.ok ? choice.ranking.ranked : [];
      const vendor = winner === undefined ? undefined : usedVendor(winner);
      const wanted = wish.kind === "named" ? wished : wished.filter(({ unit }) => unit.vendor === vendor);
      // A user who names a GPU knows it: only proved use is a reason to refuse.
      const busy = taken(wanted).filter(({ use }) => use === "busy");
      if (busy.length === 0) return choice;
      const others = wanted.filter(({ use }) => use !== "busy").map(({ unit }) => unit);
      return { ok: false, wanted: wanted.length, free: others, taken: busy };
    }
    case "count": {
      const free = states.filter(({ use }) => !isTaken(use)).map(({ unit }) => unit);
      // No image uses GPUs of two vendors.
      const enough = [...groupBy(free, ({ vendor }) => vendor)].filter(([, of]) => of.length >= wish.count);
      const [first] = enough;
      if (first === undefined) return { ok: false, wanted: wish.count, free, taken: taken(states) };
      const sets = enough.map(([vendor, of]) => ({ vendor, kinds: kindsOf(of) }));
      const best = bestSet(lock, host, sets, wish.count, options);
      return take(best ?? firstOf(kindsOf(first[1]), wish.count));
    }
  }
}

/** Throws for an unknown name: without that GPU an image without GPU code might be the answer. */
function statesNamed<T extends { readonly unit: GpuUnit }>(
  states: readonly T[],
  names: readonly string[],
): readonly T[] {
  const known = states.map(({ unit }) => unit.name);
  const missing = names.filter((name) => !known.includes(name));
  if (missing.length === 0) return states.filter(({ unit }) => names.includes(unit.name));
  throw new ImgmatchError({
    code: "SELECTION_INVALID",
    message: `there is no GPU ${missing.map((name) => JSON.stringify(name)).join(", ")}`,
    fix: known.length === 0 ? "this host has no GPU; ask for none" : `choose among ${known.join(", ")}`,
  });
}

/** Units grouped by kind, better kinds first. */
type Kinds = readonly (readonly GpuUnit[])[];

interface Option {
  readonly kinds: Kinds;
  readonly winner: Candidate;
  readonly order: Ranking["order"];
}

/** Tries sets of kinds in place of sets of units: the verdict depends on the kinds only. */
function bestSet(
  lock: Lock,
  host: HostFacts,
  free: readonly { readonly vendor: GpuVendor; readonly kinds: Kinds }[],
  count: number,
  options: ResolveImageOptions,
): readonly GpuUnit[] | null {
  let best: Option | null = null;
  const sets = free.flatMap(({ vendor, kinds }) => subsets(kinds).map((set) => ({ vendor, kinds: set })));
  for (const { vendor, kinds } of sets) {
    const enough = kinds.reduce((sum, units) => sum + units.length, 0) >= count;
    if (!enough || kinds.length > count) continue;
    const sample = kinds.flatMap((units) => units.slice(0, 1));
    const { ranked, order } = rankImages(lock, narrowTo(host, sample), options);
    const winner = ranked.find((each) => usedVendor(each) === vendor);
    if (winner === undefined) continue;
    const option = { kinds, winner, order };
    if (best === null || compareOptions(option, best) < 0) best = option;
  }
  return best === null ? null : firstOf(best.kinds, count);
}

/** A better image, then equal GPUs, then less unused code. The tag does not count: on a tie the newer GPUs stay. */
function compareOptions(a: Option, b: Option): number {
  const early = a.order.filter((step) => step !== orderSteps.targets && step !== orderSteps.tag);
  return (
    compareCandidates(early, a.winner, b.winner) ||
    a.kinds.length - b.kinds.length ||
    compareCandidates([orderSteps.targets], a.winner, b.winner)
  );
}

/** One unit of each kind, then more of the first kinds up to the count: of each kind those that belong together. In the order of the host. */
function firstOf(kinds: Kinds, count: number): readonly GpuUnit[] {
  const must = kinds.slice(0, count);
  let left = count - must.length;
  const counts = must.map((units) => {
    const more = Math.min(units.length - 1, left);
    left -= more;
    return 1 + more;
  });
  return [...closestUnits(must, counts)].sort((a, b) => compareNames(a.name, b.name));
}

function kindsOf(units: readonly GpuUnit[]): Kinds {
  const generation = (unit: GpuUnit | undefined) => (unit === undefined ? 0 : traitsOf(unit).generation);
  return [...groupBy(units, kindOf).values()].sort(
    ([a], [b]) =>
      generation(b) - generation(a) ||
      (b?.gpu.memoryMiB ?? 0) - (a?.gpu.memoryMiB ?? 0) ||
      compareNames(a?.name ?? "", b?.name ?? ""),
  );
}

/** Every set of kinds but the empty one. A host with over twelve kinds gets only single kinds, and all together. */
function subsets(kinds: Kinds): readonly Kinds[] {
  if (kinds.length > 12) return [...kinds.map((units) => [units]), kinds];
  return Array.from({ length: 2 ** kinds.length - 1 }, (_, index) =>
    kinds.filter((_units, bit) => ((index + 1) >> bit) % 2 === 1),
  );
}

function compareNames(a: string, b: string): number {
  const numbers = (name: string) =>
    name
      .replace(/^[a-z]+:/, "")
      .split(":")
      .map(Number);
  const [first = 0, second = -1] = numbers(a);
  const [other = 0, last = -1] = numbers(b);
  return first - other || second - last;
}

/** The number of `--gpus 2`; null for names, and for none. */
export function gpuCount(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{0,3}$/.test(text) ? Number(text) : null;
}

/** Reads `--gpus` as Docker does: `2` is a number, while `0,2`, `device=0` and uuids name GPUs. */
export function gpuWish(host: HostFacts, text: string | undefined): GpuWish {
  if (text === undefined || text === "all") return { kind: "all" };
  if (text === "none") return { kind: "none" };
  const count = gpuCount(text);
  if (count !== null) return { kind: "count", count };
  if (text === "0") {
    throw usageError("--gpus 0 may mean no GPU or the first one", "write --gpus none, or --gpus device=0");
  }
  const named = namedUnits(host, text.replace(/^device=/, ""));
  if (new Set(named.map(({ vendor }) => vendor)).size > 1) {
    throw usageError(
      `--gpus ${text} names GPUs of two vendors, and a container has a use for those of one`,
      "name GPUs of one vendor",
    );
  }
  return { kind: "named", names: named.map(({ name }) => name) };
}

/**
 * Chooses for a target whose scheduler picks the GPUs. It may hand out any GPU of a node, so the image must fit all of them. The scheduler
 * knows which ones are busy.
 */
export function scheduledGpus(
  lock: Lock,
  host: HostFacts,
  text: string | undefined,
  target: string,
  options: ResolveImageOptions,
): GpuChoice {
  const wish = gpuWish(host, text);
  const units = unitsOf(host);
  if (wish.kind === "named") {
    throw unsupported(
      target,
      `hand out the GPUs ${wish.names.join(", ")}: its scheduler picks them`,
      `say how many: --gpus ${Math.max(wish.names.length, 1)}`,
    );
  }
  if (wish.kind === "none") return chooseGpus(lock, host, wish, options);
  const ranking = rankImages(lock, host, options);
  // The vendor of the best image with GPU code.
  const [best] = ranking.ranked.flatMap((each) => usedVendor(each) ?? []);
  const vendor = best ?? units[0]?.vendor ?? gpuVendors[0];
  const usable = units.filter((unit) => unit.vendor === vendor);
  const count = wish.kind === "count" ? wish.count : usable.length;
  if (count > usable.length) return { ok: false, wanted: count, free: usable, taken: [] };
  return { ok: true, units: usable.slice(0, count), host, ranking };
}
