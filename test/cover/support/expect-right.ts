/** A cover, compared with `resolveImage` and `rankImages` asked of each host by itself. */

import { expect } from "vitest";
import type { Cover } from "../../../src/cover/cover-classes.ts";
import type { CoverFleet } from "../../../src/cover/cover-fleet.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import type { NamedHost } from "../../../src/facts/named-host.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { imagesOf, vendorsUnusedBy } from "../../../src/resolve/unasked.ts";
import { viewHost } from "../../../src/resolve/host-view.ts";
import { nearestFirst } from "../../../src/resolve/nearest.ts";
import { rankImages, resolveImage } from "../../../src/resolve/resolve-image.ts";

/** A GPU that no driver drives is a GPU too, and `resolve` tells its problem in place of its lack of use. */
function isIdle({ images }: Lock, cell: string, { nvidia, amd }: HostFacts): boolean {
  const { cuda = null, rocm = null, accelerator } = images[cell]?.requires ?? {};
  const forAmd = Object.values(images).some(({ requires }) => requires.rocm != null);
  const there = (nvidia?.gpus.length ?? 0) + (forAmd ? (amd?.gpus.length ?? 0) : 0);
  return cuda === null && rocm === null && accelerator === undefined && there > 0;
}

/** Each host of a cover, with the class that speaks for it. */
export function expectRight(fleet: CoverFleet, hosts: readonly NamedHost[], cover: Cover): void {
  const classOf = new Map(cover.classes.flatMap((each) => each.names.map((name) => [name, each])));
  expect(classOf.size).toBe(hosts.length);
  const got = new Map<string, number>();
  const rankings: (readonly string[])[] = [];
  for (const { name, facts } of hosts) {
    const found = classOf.get(name);
    const { match, rejected, unusedGpus } = resolveImage(fleet.lock, facts);
    const { ranked } = rankImages(fleet.lock, facts);
    rankings.push(ranked.map(({ cell }) => cell));
    expect([found?.match?.cell, found?.match?.tier, found?.others, found?.unusedGpus]).toEqual([
      match?.cell,
      match?.tier,
      ranked.slice(1).map(({ cell }) => cell),
      unusedGpus !== undefined || (match !== null && isIdle(fleet.lock, match.cell, facts)),
    ]);
    if (match !== null) got.set(match.cell, (got.get(match.cell) ?? 0) + 1);
    else {
      const view = viewHost(facts);
      const own = imagesOf(vendorsUnusedBy(fleet.lock, view), fleet.lock, rejected);
      const [nearest] = nearestFirst(fleet.lock, own.length > 0 ? own : rejected, view, {});
      expect([found?.nearest?.cell, found?.nearest?.reasons.map(({ code }) => code)]).toEqual([
        nearest?.cell,
        nearest?.misfits.map(({ code }) => code),
      ]);
    }
    if (unusedGpus?.nearest != null && unusedGpus.nearest.code !== null)
      expect(found?.nearest?.cell).toBe(unusedGpus.nearest.cell);
  }
  for (const { cell, hosts: count, fits, alwaysBeatenBy, nearest } of cover.images) {
    expect(count).toBe(got.get(cell) ?? 0);
    const where = rankings.filter((cells) => cells.includes(cell));
    expect(fits).toBe(where.length);
    expect(nearest === null).toBe(fits > 0 || hosts.length === 0);
    if (count > 0 || fits === 0) continue;
    const better = where.map((cells) => cells.slice(0, cells.indexOf(cell)));
    expect(alwaysBeatenBy).toEqual(
      [...(better[0] ?? [])].filter((other) => better.every((cells) => cells.includes(other))).sort(),
    );
  }
}
