/** Chooses GPUs that belong together, and says how they are joined. */

import { gpuVendors, linkNames } from "../../hardware/gpu-vendors.ts";
import type { GpuUnit } from "./gpu-units.ts";

/** More units are parts of cards, and their order already puts the parts of a card together. */
const mostUnits = 16;

/** So many units of each kind: with the most linked pairs, then with the most pairs of one NUMA node, then the first units. */
export function closestUnits(
  kinds: readonly (readonly GpuUnit[])[],
  counts: readonly number[],
): readonly GpuUnit[] {
  const units = kinds.flatMap((of, kind) => of.map((unit) => ({ unit, kind })));
  if (units.length > mostUnits) return kinds.flatMap((of, kind) => of.slice(0, counts[kind]));
  const worth = units.map((a) => units.map((b) => worthOf(a.unit, b.unit)));
  let best: { readonly places: readonly number[]; readonly worth: number } = { places: [], worth: -1 };
  const extend = (places: readonly number[], left: readonly number[], sum: number): void => {
    if (left.every((count) => count === 0) && sum > best.worth) best = { places, worth: sum };
    for (let at = (places.at(-1) ?? -1) + 1; at < units.length; at++) {
      const kind = units[at]?.kind ?? 0;
      const count = left[kind] ?? 0;
      if (count === 0) continue;
      const more = places.reduce((total, place) => total + (worth[place]?.[at] ?? 0), 0);
      extend([...places, at], left.with(kind, count - 1), sum + more);
    }
  };
  extend([], counts, 0);
  return best.places.flatMap((place) => units[place]?.unit ?? []);
}

/** Sixteen units have 120 pairs: any number of those of one node is worth less than a link. */
function worthOf(a: GpuUnit, b: GpuUnit): number {
  return (areLinked(a, b) ? 1000 : 0) + (isNear(a, b) ? 1 : 0);
}

/** The numbers of pairs. */
function closeness(units: readonly GpuUnit[]) {
  const all = units.flatMap((a, at) => units.slice(at + 1).map((b) => [a, b] as const));
  const states = all.map(([a, b]) => areLinked(a, b));
  return {
    pairs: all.length,
    linked: states.filter((state) => state === true).length,
    unknown: states.filter((state) => state === null).length,
    near: all.filter(([a, b]) => isNear(a, b)).length,
  };
}

/** null if neither GPU tells. A link has two ends. */
function areLinked(a: GpuUnit, b: GpuUnit): boolean | null {
  const told = [a.gpu.links?.includes(b.gpu.index), b.gpu.links?.includes(a.gpu.index)].filter(
    (each) => each !== undefined,
  );
  return told.length === 0 ? null : a.vendor === b.vendor && told.every((each) => each);
}

function isNear({ gpu: a }: GpuUnit, { gpu: b }: GpuUnit): boolean {
  return a.numa != null && a.numa === b.numa;
}

/**
 * `links`: NVLink or XGMI joins each two of the GPUs. `numa`: else all are of one NUMA node. `none`: neither. null: the facts do not tell.
 */
export type Joined = "links" | "numa" | "none" | null;

/** Of at least two units. */
export function joinedBy(units: readonly GpuUnit[]): Joined {
  const { pairs, linked, unknown, near } = closeness(units);
  if (linked === pairs) return "links";
  if (near === pairs) return "numa";
  return unknown > 0 || units.some(({ gpu }) => gpu.numa === undefined) ? null : "none";
}

/** `GPUs 0, 3: joined by NVLink, on NUMA node 0`. */
export function joinedLine(units: readonly GpuUnit[]): string {
  const { pairs, linked, unknown } = closeness(units);
  const gpus = `GPUs ${units.map(({ name }) => name).join(", ")}`;
  if (unknown === pairs && units.every(({ gpu }) => gpu.numa === undefined))
    return `${gpus}: the facts do not tell how they are joined`;
  const link = linkNames[units[0]?.vendor ?? gpuVendors[0]];
  const links =
    linked === pairs
      ? `joined by ${link}`
      : linked > 0
        ? `${linked} of ${pairs} pairs joined by ${link}`
        : unknown > 0
          ? `not known whether ${link} joins them`
          : `not joined by ${link}`;
  return `${gpus}: ${links}, ${nodeWords(units)}`;
}

function nodeWords(units: readonly GpuUnit[]): string {
  const found = [...new Set(units.map(({ gpu }) => gpu.numa))];
  if (found.includes(undefined)) return "NUMA nodes not known";
  const nodes = found.flatMap((node) => node ?? []).sort((a, b) => a - b);
  if (nodes.length === 0) return "no NUMA nodes";
  return `on NUMA node${nodes.length === 1 ? "" : "s"} ${nodes.join(", ")}${found.includes(null) ? " and on none" : ""}`;
}
