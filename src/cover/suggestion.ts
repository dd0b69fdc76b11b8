/** `imgmatch cover --suggest`: the cells that a fleet needs, and no more. */

import type { Matrix } from "../matrix/matrix.ts";
import { compareKeys } from "../resolve/order-steps.ts";
import { normalizePlatform } from "../resolve/host-view.ts";
import { createResolver } from "../resolve/resolver.ts";
import { findBestSet } from "./best-set.ts";
import { distanceKey } from "./compare-covers.ts";
import { type CandidateMap, candidateCells, everyFree } from "./candidate-cells.ts";
import type { HostClass } from "./host-classes.ts";
import { type Demand, findMinimalSet } from "./minimal-set.ts";
import { cpuDistance, isNative, nativeMarch, worstCode } from "./native-distance.ts";
import { plannedLock } from "./planned-image.ts";

export interface Suggestion {
  /** The cells to have, in the order of their ids. */
  readonly cells: readonly SuggestedCell[];
  /** Hosts that get native code of them. */
  readonly native: number;
  /** Hosts that get any image of them. */
  readonly served: number;
  /** Ids of classes for which no cell that could be built is native: they get one that is as near to it as any. */
  readonly beyond: readonly string[];
  /** Ids of classes that no cell fits. */
  readonly nothing: readonly string[];
  /** Why fewer, or others, do not do, in words. */
  readonly proof: string;
  /** Whether that is proved. */
  readonly proved: boolean;
  /** Cells among which was chosen. */
  readonly candidates: number;
}

export interface SuggestedCell {
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  /** The same with every combination of free axes, which no host decides, that no `exclude` forbids. */
  readonly every: readonly Readonly<Record<string, string>>[];
  readonly hosts: number;
  /** Ids of the classes that get it. */
  readonly classes: readonly string[];
  /** Whether the matrix's plan has it. */
  readonly planned: boolean;
}

/**
 * The fewest cells with which `resolve` gives every class native code, or, where no cell is native, what is as near to it as any;
 * with `most`, those with which most hosts get native code. Chosen among the cells of the matrix's values, and of the own compute
 * capabilities and march of classes that those do not serve natively. Toolkits are the matrix's: only they have base images.
 */
export function suggestCells(
  matrix: Matrix,
  planned: ReadonlySet<string>,
  classes: readonly HostClass[],
  most?: number,
): Suggestion {
  const own = candidateCells(matrix);
  const lacking = demandsOf(matrix, own, classes).flatMap(({ native }, index) =>
    native.size > 0 ? [] : [index],
  );
  const cells = new Map(own);
  for (const index of lacking) {
    const extras = extrasOf(classes[index]);
    if (extras === null) continue;
    for (const [id, cell] of candidateCells(matrix, extras)) cells.set(id, cell);
  }
  const ids = [...cells.keys()].sort();
  const demands = demandsOf(matrix, cells, classes, ids);
  const asked = demands
    .map((demand, index) => ({ demand, index }))
    .filter(({ demand }) => demand.good.size > 0);
  const { chosen, proof, proved } =
    most === undefined
      ? smallest(asked, ids, planned)
      : best(
          demands.map((demand) => ({ ...demand, good: demand.native })),
          ids,
          most,
        );
  return {
    cells: chosen.map((image) => describe(matrix, image, chosen, ids, cells, demands, planned)),
    ...reached(demands, chosen),
    beyond: demands.flatMap(({ ranked, native }, index) =>
      ranked.length > 0 && native.size === 0 ? [idOf(index)] : [],
    ),
    nothing: demands.flatMap(({ ranked }, index) => (ranked.length === 0 ? [idOf(index)] : [])),
    proof,
    proved,
    candidates: ids.length,
  };
}

/** Good is native, and where no cell is that, as near to it as any cell. */
interface ClassDemand extends Demand {
  readonly native: ReadonlySet<number>;
}

interface Chosen {
  readonly chosen: readonly number[];
  readonly proof: string;
  readonly proved: boolean;
}

function smallest(
  asked: readonly { readonly demand: Demand; readonly index: number }[],
  ids: readonly string[],
  planned: ReadonlySet<string>,
): Chosen {
  const cost = (image: number) => (planned.has(ids[image] ?? "") ? 0 : 1);
  const found = findMinimalSet(
    asked.map(({ demand }) => demand),
    ids.length,
    cost,
  );
  if (found === null) return { chosen: [], proof: "no set of these cells was found", proved: false };
  const { chosen, proof } = found;
  switch (proof.kind) {
    case "disjoint": {
      const classes = proof.demands.map((index) => idOf(asked[index]?.index ?? 0));
      const words = `${classes.join(", ")} share no cell that is native, or as near as any, for two of them: each needs one of its own`;
      return { chosen, proof: chosen.length === 0 ? "no cell fits any of them" : words, proved: true };
    }
    case "search":
      return {
        chosen,
        proof: `every set of ${chosen.length - 1} was excluded by branch and bound, ${proof.nodes} branches`,
        proved: true,
      };
    case "limit":
      return {
        chosen,
        proof: `given up after ${proof.nodes} branches: at least ${proof.atLeast} are needed`,
        proved: false,
      };
  }
}

function best(demands: readonly Demand[], ids: readonly string[], most: number): Chosen {
  const { chosen, proved, nodes } = findBestSet(demands, ids.length, most);
  const words = `no other set of ${most} serves more, ${nodes} branches of branch and bound`;
  return {
    chosen,
    proved,
    proof: proved ? words : `given up after ${nodes} branches: another set may serve more`,
  };
}

/** What each class gets of each cell; numbers are places in `ids`. */
function demandsOf(
  matrix: Matrix,
  cells: CandidateMap,
  classes: readonly HostClass[],
  ids: readonly string[] = [...cells.keys()].sort(),
): readonly ClassDemand[] {
  const numbers = new Map(ids.map((id, index) => [id, index]));
  const { rank } = createResolver(plannedLock(matrix, [...cells.values()]));
  return classes.map(({ facts, names }): ClassDemand => {
    const usable = (facts.nvidia?.gpus.length ?? 0) > 0 && facts.nvidia?.driver != null;
    const each = rank(facts).ranked.map(({ cell, image, fit }) => {
      const [cpu, gpu] = [cpuDistance(image, facts), worstCode(fit)];
      // A GPU without work is served natively by no CPU image.
      const unusedGpus = usable && image.requires.cuda === null;
      return {
        number: numbers.get(cell) ?? 0,
        native: !unusedGpus && fit.tier === "native" && isNative(cpu, gpu) === true,
        key: distanceKey(unusedGpus, { gpu, tier: fit.tier, cpu }),
      };
    });
    const native = new Set(each.flatMap((one) => (one.native ? [one.number] : [])));
    const keys = each.map(({ key }) => key).sort(compareKeys);
    const nearest = each.flatMap(({ number, key }) =>
      compareKeys(key, keys[0] ?? []) === 0 ? [number] : [],
    );
    return {
      weight: names.length,
      ranked: each.map(({ number }) => number),
      good: native.size > 0 ? native : new Set(nearest),
      native,
    };
  });
}

/** null for a class whose facts do not say what would be its own. */
function extrasOf(each: HostClass | undefined) {
  if (each === undefined || each.facts.cpu.features === null) return null;
  const { platform, cpu, nvidia } = each.facts;
  const march = nativeMarch(normalizePlatform(platform), new Set(cpu.features));
  const computes = nvidia?.gpus.map(({ compute }) => compute) ?? [];
  if (march === null || computes.includes(null)) return null;
  return {
    computes: [...new Set(computes.flatMap((compute) => compute ?? []))].sort(),
    marches: [march.name],
  };
}

function describe(
  matrix: Matrix,
  image: number,
  chosen: readonly number[],
  ids: readonly string[],
  cells: CandidateMap,
  demands: readonly Demand[],
  planned: ReadonlySet<string>,
): SuggestedCell {
  const cell = ids[image] ?? "";
  const found = cells.get(cell);
  const getters = demands.flatMap((demand, index) =>
    gets(demand, chosen) === image ? [{ demand, index }] : [],
  );
  return {
    cell,
    axes: found?.axes ?? {},
    every: found === undefined ? [] : everyFree(matrix, found),
    hosts: getters.reduce((sum, { demand }) => sum + demand.weight, 0),
    classes: getters.map(({ index }) => idOf(index)),
    planned: planned.has(cell),
  };
}

function reached(
  demands: readonly ClassDemand[],
  chosen: readonly number[],
): Pick<Suggestion, "native" | "served"> {
  const hosts = (holds: (image: number, demand: ClassDemand) => boolean) =>
    demands.reduce((sum, demand) => {
      const image = gets(demand, chosen);
      return sum + (image !== undefined && holds(image, demand) ? demand.weight : 0);
    }, 0);
  return { native: hosts((image, { native }) => native.has(image)), served: hosts(() => true) };
}

function gets({ ranked }: Demand, chosen: readonly number[]): number | undefined {
  return ranked.find((image) => chosen.includes(image));
}

/** As in a cover of the same classes. */
function idOf(index: number): string {
  return `c${index + 1}`;
}
