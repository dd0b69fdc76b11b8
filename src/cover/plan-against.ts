/** `imgmatch plan --against LOCK`: the hosts that a fleet's own change would lose, slow down or gain. */

import { usageError } from "../errors.ts";
import type { ClusterReader } from "../host/cluster-reader.ts";
import { requireDrivers } from "../host/complete-hosts.ts";
import { type ManyHosts, readManyHosts } from "../host/read-host-files.ts";
import { canonical } from "../io/canonical-json.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { compareOutcomes, type Comparison, type Outcome } from "../node/compare-outcomes.ts";
import { gpuNames } from "../node/many-hosts.ts";
import { fitOptions } from "../resolve/resolve-options.ts";
import { createResolver, type Resolver } from "../resolve/resolver.ts";
import { plannedFleet } from "./cover-fleet.ts";
import { readPlanned } from "./read-planned.ts";

export interface PlanAgainstOptions extends Pick<ManyHosts, "hosts" | "catalog" | "driver">, Watching {
  /** Default: `matrix.yaml`. */
  readonly matrix?: string;
  /** The lock that the hosts took their images from until now. */
  readonly against: string;
}

/**
 * Compares the fleet that a matrix plans, built or not, with the fleet of a lock, on each of many hosts. Throws `USAGE` without hosts, `LOCK_…`,
 * `FACTS_…` and every mistake of the matrix.
 *
 * @example
 * const { changes } = await planAgainst({ against: "images/imgmatch.lock.json", hosts: ["hosts"] });
 */
export type PlanAgainstFunction = (
  options: PlanAgainstOptions,
  world?: Partial<World>,
) => Promise<Comparison>;

export function planAgainstWith(ports: ClusterReader): PlanAgainstFunction {
  return (options, given) => inWorld(options, given, (world) => comparedIn(options, world), ports);
}

async function comparedIn(options: PlanAgainstOptions, world: World & ClusterReader): Promise<Comparison> {
  const { matrix = "matrix.yaml", against } = options;
  if ([options.hosts, options.catalog].every((each) => (each ?? []).length === 0))
    throw usageError("--against compares what hosts get", "name them: --hosts FILE or --catalog aws");
  const planned = await readPlanned(matrix, world);
  const before = await readLock(against);
  const after = asMeasured(plannedFleet(planned.matrix).lock, before);
  const hosts = await readManyHosts(options, world);
  requireDrivers(hosts, [...fitOptions(before, {}).gpuImages, ...fitOptions(after, {}).gpuImages]);
  const [old, next] = [createResolver(before), createResolver(after)];
  const outcomes = hosts.map(({ name, facts }) => ({
    host: name,
    gpus: gpuNames(facts),
    before: outcomeOf(old.rank(facts), old),
    after: outcomeOf(next.rank(facts), next),
  }));
  return compareOutcomes(matrix, against, outcomes);
}

/** A planned image keeps what was measured of the image that the lock has of the same needs. */
function asMeasured(planned: Lock, { images }: Lock): Lock {
  const kept = Object.entries(planned.images).map(([cell, image]): [string, LockedImage] => {
    const had = images[cell];
    const isSame = had?.measured !== undefined && same(had.requires, image.requires);
    return [cell, isSame ? { ...image, measured: had.measured } : image];
  });
  return { ...planned, images: Object.fromEntries(kept) };
}

function outcomeOf(
  { ranked: [winner], rejected, view }: ReturnType<Resolver["rank"]>,
  resolver: Resolver,
): Outcome {
  if (winner !== undefined) {
    const { requires } = winner.image;
    return { fits: true, fit: winner.fit, requires, part: "", code: "", why: "" };
  }
  const miss = resolver.nearest(view, rejected);
  const [first] = miss?.misfits ?? [];
  const { requires = null } = miss?.image ?? {};
  const fits = first?.code === "FACT_UNKNOWN" ? null : false;
  const why = first === undefined ? "the fleet has no image" : (first.short ?? first.message);
  return { fits, fit: null, requires, part: "", code: first?.code ?? "", why };
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(canonical(one)) === JSON.stringify(canonical(other));
}
