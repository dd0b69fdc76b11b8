/** `imgmatch cover --suggest`: finds the fewest cells that serve all host classes. */

import { usageError } from "../errors.ts";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import { sum } from "../io/collections.ts";
import { findBestSet } from "./best-set.ts";
import {
  candidateCells,
  type CandidateMap,
  type ClassDemand,
  computesOf,
  demandsOf,
  everyFree,
} from "./candidate-cells.ts";
import type { CoverFleet } from "./cover-fleet.ts";
import { costOf, type EstimatedCost, estimateCost, type FleetCost } from "./fleet-cost.ts";
import type { HostClass } from "../resolve/host-classes.ts";
import { type Demand, findMinimalSet, type MinimalSet } from "./minimal-set.ts";
import { nativeMarch } from "../host/native-march.ts";

export interface Suggestion {
  /** The cells to have, in the order of their ids. */
  readonly cells: readonly SuggestedCell[];
  /** Hosts that get native code. */
  readonly native: number;
  /** Hosts that get any image. */
  readonly served: number;
  /** Ids of classes without a possible native cell. They get a cell nearest to native code. */
  readonly beyond: readonly string[];
  /** Ids of classes whose facts leave open which cell is native. Classes that get a native image, as far as the facts tell. */
  readonly undecided: readonly string[];
  /** Ids of classes that no cell fits. */
  readonly nothing: readonly string[];
  /** Why fewer cells, or others, are not better. */
  readonly proof: string;
  /** False if the search ended early. */
  readonly proved: boolean;
  /** The number of cells to choose from. */
  readonly candidates: number;
  /** Planned cells that stay, planned cells that go (without layers of the rest), and new cells as an estimate. */
  readonly cost: { readonly kept: FleetCost; readonly dropped: FleetCost; readonly added: EstimatedCost };
}

export interface SuggestedCell {
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  /** The axes for every combination of free values that no `exclude` forbids. */
  readonly every: readonly Readonly<Record<string, string>>[];
  readonly hosts: number;
  /** Ids of the classes that get it. */
  readonly classes: readonly string[];
  /** The plan of the matrix has it. */
  readonly planned: boolean;
}

export interface SuggestOptions {
  readonly matrix: Matrix;
  /** At most so many images: a cell is one for each combination of free values. */
  readonly most?: number;
}

/**
 * Finds the fewest cells that give every class native code, or code nearest to it. With `most`, finds the cells that give the most hosts
 * native code. The cells have values of the matrix; for classes that those do not serve natively, also their own compute capabilities
 * and march. Toolkits are those of the matrix, as only they have base images.
 *
 * @param fleet the matrix's plan, with the figures of a lock
 */
export function suggestCells(
  { matrix, most }: SuggestOptions,
  fleet: CoverFleet,
  classes: readonly HostClass[],
): Suggestion {
  const isPlanned = (cell: string) => Object.hasOwn(fleet.lock.images, cell);
  const cells = candidatesFor(matrix, classes);
  const ids = [...cells.keys()].sort();
  const demands = demandsOf(matrix, cells, ids, classes);
  const { chosen, proof, proved } =
    most === undefined ? smallest(demands, ids, isPlanned) : best(demands, ids, cellsIn(most, matrix));
  /** The image of each class. */
  const gets = demands.map(({ ranked }) => ranked.find((image) => chosen.includes(image)));
  const suggested = chosen.map((image): SuggestedCell => {
    const cell = ids[image] ?? "";
    const found = cells.get(cell);
    return {
      cell,
      axes: found?.axes ?? {},
      every: found === undefined ? [] : everyFree(matrix, found),
      hosts: sum(demands.map(({ weight }, index) => (gets[index] === image ? weight : 0))),
      classes: gets.flatMap((each, index) => (each === image ? [idOf(index)] : [])),
      planned: isPlanned(cell),
    };
  });
  const hostsWhere = (holds: (image: number, demand: ClassDemand) => boolean) =>
    sum(
      demands.map((demand, index) => {
        const image = gets[index];
        return image !== undefined && holds(image, demand) ? demand.weight : 0;
      }),
    );
  const classesWhere = (holds: (demand: ClassDemand) => boolean) =>
    demands.flatMap((demand, index) => (holds(demand) ? [idOf(index)] : []));
  return {
    cells: suggested,
    native: hostsWhere((image, { native }) => native.has(image)),
    served: hostsWhere(() => true),
    beyond: classesWhere(
      ({ ranked, native, isUndecided }) => ranked.length > 0 && native.size === 0 && !isUndecided,
    ),
    undecided: classesWhere(({ isUndecided }) => isUndecided),
    nothing: classesWhere(({ ranked }) => ranked.length === 0),
    proof,
    proved,
    candidates: ids.length,
    cost: changeOf(suggested, fleet),
  };
}

/** Throws `USAGE` for fewer images than one cell makes. */
function cellsIn(images: number, { axes }: Matrix): number {
  const free = axes.filter(({ kind }) => kind === "free").map(({ values }) => values.length);
  const each = free.reduce((all, values) => all * values, 1);
  if (images >= each) return Math.floor(images / each);
  throw usageError(
    `a cell makes ${each} images, one for each combination of free values, and --max-images is ${images}`,
    `write --max-images ${each} or more, or take values from the free axes`,
  );
}

/** Cells of the matrix, and cells with the values of classes that those do not serve natively. */
function candidatesFor(matrix: Matrix, classes: readonly HostClass[]): CandidateMap {
  const ofMatrix = candidateCells(matrix);
  const cells = new Map(ofMatrix);
  const demands = demandsOf(matrix, ofMatrix, [...ofMatrix.keys()], classes);
  for (const [index, { native }] of demands.entries()) {
    const extras = native.size > 0 ? null : extrasOf(classes[index]);
    if (extras === null) continue;
    for (const [id, cell] of candidateCells(matrix, extras)) cells.set(id, cell);
  }
  return cells;
}

/** Compares cells by their axes, as ids differ for each combination of free values. */
function changeOf(
  suggested: readonly SuggestedCell[],
  { lock, figures = lock.images }: CoverFleet,
): Suggestion["cost"] {
  const key = (axes: SuggestedCell["axes"]) => JSON.stringify(Object.entries(axes).sort());
  const wanted = new Map(suggested.flatMap(({ every }) => every.map((axes) => [key(axes), axes] as const)));
  const cells = Object.entries(lock.images);
  const known = new Set(cells.map(([, { axes }]) => key(axes)));
  const [kept = [], dropped = []] = [true, false].map((stays) =>
    cells.flatMap(([cell, { axes }]) => (wanted.has(key(axes)) === stays ? [cell] : [])),
  );
  const added = [...wanted].flatMap(([text, axes]) => (known.has(text) ? [] : [axes]));
  return {
    kept: costOf(kept, figures),
    dropped: costOf(dropped, figures, kept),
    added: estimateCost(added, figures),
  };
}

type Chosen = Pick<MinimalSet, "chosen"> & Pick<Suggestion, "proof" | "proved">;

function smallest(
  demands: readonly Demand[],
  ids: readonly string[],
  isPlanned: (cell: string) => boolean,
): Chosen {
  const solvable = [...demands.entries()].filter(([, { good }]) => good.size > 0);
  const cost = (image: number) => (isPlanned(ids[image] ?? "") ? 0 : 1);
  const found = findMinimalSet(
    solvable.map(([, demand]) => demand),
    ids.length,
    cost,
  );
  if (found === null) return { chosen: [], proof: "no set of these cells was found", proved: false };
  const words = proofWords(
    found,
    solvable.map(([index]) => idOf(index)),
  );
  return { chosen: found.chosen, proof: words, proved: found.proof.kind !== "limit" };
}

function proofWords({ chosen, proof }: MinimalSet, ids: readonly string[]): string {
  switch (proof.kind) {
    case "disjoint": {
      if (chosen.length === 0) return "no cell fits any of them";
      const classes = proof.demands.map((index) => ids[index] ?? "");
      return classes.length === 1
        ? `one image serves all hosts, and ${classes[0]} needs one`
        : `no cell has the best code for two of ${classes.join(", ")}: each needs its own`;
    }
    case "search":
      return `every set of ${chosen.length - 1} was excluded by branch and bound, ${proof.nodes} branches`;
    case "limit":
      return `given up after ${proof.nodes} branches: at least ${proof.atLeast} are needed`;
  }
}

function best(demands: readonly ClassDemand[], ids: readonly string[], most: number): Chosen {
  const native = demands.map((demand) => ({ ...demand, good: demand.native }));
  const { chosen, proved, nodes } = findBestSet(native, ids.length, most);
  const proof = proved
    ? `no other set of ${most} serves more, ${nodes} branches of branch and bound`
    : `given up after ${nodes} branches: another set may serve more`;
  return { chosen, proved, proof };
}

/** null if the facts do not tell the class's values. */
function extrasOf(each: HostClass | undefined) {
  const native = each === undefined ? null : nativeMarch(each.facts);
  const computes = each === undefined ? [] : computesOf(each.facts);
  if (native === null || computes.includes(null)) return null;
  return {
    computes: [...new Set(computes.flatMap((compute) => compute ?? []))].sort(),
    marches: [native.march.name],
  };
}

/** The id of the class in a cover. */
function idOf(index: number): string {
  return `c${index + 1}`;
}
