/** Counts the hosts of each image, and says why nobody gets the others. */

import type { Lock } from "../lock/lock.ts";
import { remember, sortedEntries, sum } from "../io/collections.ts";
import { hardwareAxes } from "../resolve/unasked.ts";
import type { Ranking } from "../resolve/resolve-image.ts";
import { efforts, type Misfit, type ReasonCode } from "../resolve/verdict.ts";

export interface CoveredImage {
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  /** Hosts that get it. */
  readonly hosts: number;
  /** Hosts on which it would run. */
  readonly fits: number;
  /** Hosts that get it if each of its free axes is pinned. */
  readonly pinned: number;
  /** For an image that fits and nobody gets: the images that come before it on each of these hosts. */
  readonly alwaysBeatenBy: readonly string[];
  /** For an image that fits and nobody gets: the images that hosts get in its place. */
  readonly beatenBy: readonly string[];
  /** For an image that fits no host: the reason that is easiest to cure, its hosts, and the message of one. */
  readonly misfit: { readonly code: ReasonCode; readonly hosts: number; readonly message: string } | null;
}

interface RankedClass {
  readonly names: readonly string[];
  readonly ranking: Ranking;
}

/** In the order of the cells. */
export function useOfImages(lock: Lock, classes: readonly RankedClass[]): readonly CoveredImage[] {
  const uses = new Map(Object.keys(lock.images).map((cell) => [cell, newUse()]));
  for (const { names, ranking } of classes) {
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
      use.better = use.better === null ? new Set(before) : kept(use.better, before);
      before.push(cell);
    }
  }
  const misfits = misfitsOf(
    [...uses].flatMap(([cell, { fits }]) => (fits === 0 ? [cell] : [])),
    classes,
  );
  return sortedEntries(lock.images).map(([cell, { axes, platform }]) => {
    const { hosts, fits, pinned, better, winners } = uses.get(cell) ?? newUse();
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
      misfit: misfits.get(cell) ?? null,
    };
  });
}

/** Puts the names of host and cell into a message of `resolve`, which speaks of "this host". */
export function named(text: string, host: string, cell?: string): string {
  // Functions, as replaceAll would read a `$` of a name as a pattern.
  const ofHost = text.replaceAll("this host", () => host);
  return cell === undefined ? ofHost : ofHost.replaceAll("the image's cell", () => `cell ${cell}`);
}

type Reason = Pick<Misfit, "code" | "message" | "fix">;

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
  /** Images that came before it on every host that it fits so far; null before the first. */
  better: ReadonlySet<string> | null;
  readonly winners: Set<string>;
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
  return { hosts: 0, fits: 0, pinned: 0, better: null, winners: new Set() };
}

function kept(better: ReadonlySet<string>, before: readonly string[]): ReadonlySet<string> {
  if (better.size === 0) return better;
  return new Set(before.filter((cell) => better.has(cell)));
}

function misfitsOf(
  cells: readonly string[],
  classes: readonly RankedClass[],
): ReadonlyMap<string, NonNullable<CoveredImage["misfit"]>> {
  const wanted = new Map(
    cells.map((cell) => [cell, new Map<ReasonCode, { hosts: number; message: string }>()]),
  );
  if (wanted.size === 0) return new Map();
  for (const { names, ranking } of classes) {
    for (const { cell, code, message } of ranking.rejected) {
      const counts = wanted.get(cell);
      if (counts === undefined) continue;
      const [name = "a host"] = names;
      remember(counts, code, () => ({ hosts: 0, message: named(message, name) })).hosts += names.length;
    }
  }
  return new Map(
    [...wanted].flatMap(([cell, counts]) => {
      const [most] = [...counts].sort(
        ([a, one], [b, other]) => efforts[a] - efforts[b] || other.hosts - one.hosts,
      );
      return most === undefined ? [] : [[cell, { code: most[0], ...most[1] }] as const];
    }),
  );
}
