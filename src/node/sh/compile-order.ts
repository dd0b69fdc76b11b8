/** The total order of images as numbers: the lock's part becomes ranks, the host's part stays open. */

import { InternalError } from "../../errors.ts";
import { groupBy } from "../../io/collections.ts";
import type { Lock } from "../../lock/lock.ts";
import {
  compareAllKeys,
  type OrderStep,
  type OrderedCandidate,
  type SortKey,
} from "../../resolve/order-steps.ts";
import { orderBy } from "../../resolve/rank.ts";
import { tiers } from "../../resolve/verdict.ts";

export interface CompiledOrder {
  /** The parts of an image's key: in `1 C 2 U 3` a number is a column of ranks, C the code, U the unused targets. */
  readonly keyParts: string;
  /** The ranks of an offer by column: `3/0,4,9/12`. A column has one rank for each tier where the tier matters. */
  readonly ranks: (offer: Offer) => string;
}

/** An image, and the part of its march that counts. */
export type Offer = Omit<OrderedCandidate, "tier">;

const onHost = { "worst code": "C", "used targets": "U" } as const satisfies Partial<
  Record<OrderStep["of"], string>
>;

type ImageStep = OrderStep & { readonly of: "image" };

export function compileOrder(offers: readonly Offer[], prefer: Lock["prefer"]): CompiledOrder {
  const runs: ImageStep[][] = [];
  const steps: (string | number)[] = [];
  for (const step of orderBy(prefer)) {
    if (step.of !== "image") steps.push(onHost[step.of]);
    else if (typeof steps.at(-1) === "number") runs.at(-1)?.push(step);
    else steps.push(runs.push([step]));
  }
  const columns = runs.map((run) => denseRanks(offers, run));
  return {
    keyParts: steps.join(" "),
    ranks: (offer) => columns.map((byOffer) => byOffer.get(offer)).join("/"),
  };
}

/** The ranks of each offer by tier. Equal images share a rank: the next step decides between them. */
function denseRanks(offers: readonly Offer[], run: readonly ImageStep[]): ReadonlyMap<Offer, string> {
  const placed = offers.flatMap((offer) =>
    tiers.map((tier) => ({
      offer,
      keys: run.map((step) => step.key({ ...offer, tier } satisfies OrderedCandidate)),
    })),
  );
  const sorted = [...placed].sort((a, b) => compareAllKeys(a.keys, b.keys));
  const ranks = new Map<(typeof placed)[number], number>();
  let rank = 0;
  for (const [index, each] of sorted.entries()) {
    const before = sorted[index - 1] ?? each;
    if (compareAllKeys(before.keys, each.keys) !== 0) rank++;
    ranks.set(each, rank);
  }
  return new Map(
    [...groupBy(placed, ({ offer }) => offer)].map(([offer, byTier]) => {
      const list = byTier.map((each) => ranks.get(each));
      return [offer, new Set(list).size === 1 ? String(list[0]) : list.join(",")];
    }),
  );
}

/** The order's key of GPU code as one number of four digits: the place of its kind, and its distance. */
export function codeNumber([kind, distance = 0, ...more]: SortKey): number {
  const known = isDigit(kind, 9) && isDigit(distance, 999) && more.length === 0;
  if (!known)
    throw new InternalError("the order's key of GPU code has another form than the exported script's");
  return 1000 * kind + distance;
}

function isDigit(part: number | string | undefined, most: number): part is number {
  return typeof part === "number" && Number.isInteger(part) && part >= 0 && part <= most;
}
