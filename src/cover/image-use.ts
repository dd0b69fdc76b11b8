/** Counts the hosts of each image, and says why nobody gets the others. */

import type { Lock } from "../lock/lock.ts";
import { noGpus, vendorsOf } from "../lock/requirement.ts";
import { sortedEntries, sum } from "../io/collections.ts";
import { hardwareAxes } from "../lock/lock.ts";
import type { Ranking } from "../resolve/resolve-image.ts";
import { compareKeys } from "../resolve/order-steps.ts";
import type { Resolver } from "../resolve/resolver.ts";
import { effortOf, type Misfit } from "../resolve/verdict.ts";
import type { Figures } from "./fleet-cost.ts";
import { type UnusedCode, unusedCodeOf } from "./unused-code.ts";

export interface CoveredImage {
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  /** Hosts that get it. */
  readonly hosts: number;
  /** Hosts on which it would run. */
  readonly fits: number;
  /** Hosts that get the image if each of its free axes is pinned. */
  readonly pinned: number;
  /** For an image that fits and nobody gets: the images that come before it on every such host. */
  readonly alwaysBeatenBy: readonly string[];
  /** For an image that fits and nobody gets: the images that hosts get in its place. */
  readonly beatenBy: readonly string[];
  /** For an image that fits no host: the host that misses it by the least. */
  readonly nearest: NearHost | null;
  /** Bytes of code that none of the image's hosts uses. Absent where the bytes are not known, or the image runs on no host. */
  readonly code?: UnusedCode;
}

export interface NearHost {
  /** The first host of a class. */
  readonly host: string;
  /** In the order of the rules; never empty. */
  readonly reasons: readonly Reason[];
}

interface RankedClass {
  readonly names: readonly string[];
  readonly ranking: Ranking;
}

/** In the order of the cells. */
export function useOfImages(
  lock: Lock,
  classes: readonly RankedClass[],
  resolver: Resolver,
  figures: Figures,
): readonly CoveredImage[] {
  const unusedCode = unusedCodeOf();
  const uses = new Map(Object.keys(lock.images).map((cell) => [cell, newUse()]));
  for (const { names, ranking } of classes) {
    const { view } = ranking;
    const before: string[] = [];
    const answered = new Set<string>();
    for (const { cell } of ranking.ranked) {
      const use = uses.get(cell);
      if (use === undefined) continue;
      const pins = pinsOf(lock.images[cell]?.axes ?? {});
      if (!answered.has(pins)) use.pinned += names.length;
      answered.add(pins);
      const [winner = cell] = before;
      if (winner === cell) use.hosts += names.length;
      else use.winners.add(winner);
      use.fits += names.length;
      use.views.push(view);
      use.better = use.better === null ? new Set(before) : kept(use.better, before);
      before.push(cell);
    }
  }
  return sortedEntries(lock.images).map(([cell, { axes, platform }]) => {
    const { hosts, fits, pinned, better, winners, views } = uses.get(cell) ?? newUse();
    const code = Object.hasOwn(figures, cell) ? figures[cell]?.code : undefined;
    const beaten = hosts === 0;
    return {
      cell,
      axes,
      platform,
      hosts,
      fits,
      pinned,
      alwaysBeatenBy: beaten ? [...(better ?? [])].sort() : [],
      beatenBy: beaten ? [...winners].sort() : [],
      nearest: fits > 0 ? null : nearestHost(cell, lock, classes, resolver),
      ...(code !== undefined && fits > 0 && { code: unusedCode(code, views) }),
    };
  });
}

/** Puts the names of host and cell into a message of `resolve`, which speaks of "this host". */
export function named(text: string, host: string, cell?: string): string {
  // Functions, as replaceAll would read a `$` of a name as a pattern.
  const ofHost = text.replaceAll("this host", () => host);
  return cell === undefined ? ofHost : ofHost.replaceAll("the image's cell", () => `cell ${cell}`);
}

export type Reason = Pick<Misfit, "code" | "message" | "fix">;

/** `DRIVER_TOO_OLD: needs …; NO_GPU_CODE: has …` */
export function reasonWords(reasons: readonly Reason[]): string {
  return reasons.map(({ code, message }) => `${code}: ${message}`).join("; ");
}

export function namedReasons(reasons: readonly Reason[], host: string, cell: string): readonly Reason[] {
  return reasons.map(({ code, message, fix }) => ({
    code,
    message: named(message, host, cell),
    fix: named(fix, host, cell),
  }));
}

interface Use {
  hosts: number;
  fits: number;
  pinned: number;
  /** Images that came before it on every fitting host so far; null before the first. */
  better: ReadonlySet<string> | null;
  readonly winners: Set<string>;
  /** Of the hosts on which it would run. */
  readonly views: Ranking["view"][];
}

/** The values of the free axes, which a user would pin. */
function pinsOf(axes: Readonly<Record<string, string>>): string {
  return JSON.stringify(sortedEntries(axes).filter(([axis]) => !hardwareAxes.has(axis)));
}

/** The hosts of classes or images, in all. */
export function hostsOf(all: readonly { readonly hosts: number }[]): number {
  return sum(all.map(({ hosts }) => hosts));
}

/** True if nobody gets the image, even with pins. */
export function isUnused({ hosts, pinned }: CoveredImage): boolean {
  return hosts + pinned === 0;
}

function newUse(): Use {
  return { hosts: 0, fits: 0, pinned: 0, better: null, winners: new Set(), views: [] };
}

function kept(better: ReadonlySet<string>, before: readonly string[]): ReadonlySet<string> {
  if (better.size === 0) return better;
  return new Set(before.filter((cell) => better.has(cell)));
}

function nearestHost(
  cell: string,
  lock: Lock,
  classes: readonly RankedClass[],
  resolver: Resolver,
): CoveredImage["nearest"] {
  // A host without a GPU of the image's kind is nearer only where no host has one.
  const vendors = vendorsOf(lock.images[cell]?.requires ?? noGpus);
  const own = classes.filter(({ ranking: { view } }) =>
    vendors.some((vendor) => (view[vendor]?.gpus.length ?? 0) > 0),
  );
  const misses = (own.length > 0 ? own : classes).flatMap(
    ({ names: [host = "a host"], ranking: { view } }) => {
      const miss = resolver.nearest(view, [{ cell }]);
      return miss === null ? [] : [{ host, ...miss, effort: effortOf(miss.misfits) }];
    },
  );
  const [least, ...others] = misses;
  if (least === undefined) return null;
  const { host, misfits } = others.reduce(
    (best, other) => (compareKeys(other.effort, best.effort) < 0 ? other : best),
    least,
  );
  return { host, reasons: namedReasons(misfits, host, cell) };
}
