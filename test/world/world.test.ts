/**
 * A world with a seed: publishers, promotions, mirrors, nodes with clocks of their own and a registry with faults, in one process that replays.
 * `IMGMATCH_LONG=1` runs 10,000 seeds in place of 100; `IMGMATCH_SEED=n` runs one, and prints all that happens in it.
 */

import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { isLong, rounds } from "../support/long.ts";
import { faults } from "./support/registry.ts";
import { runWorld } from "./support/world.ts";

const only = process.env.IMGMATCH_SEED;
const [first, last] = only === undefined ? [1, rounds(100, 10_000)] : [Number(only), Number(only)];
/** So many of the last events say what led to a broken law. */
const told = 60;

/** What has happened in some world: a law that was never in danger holds nothing. */
const sometimes: readonly string[] = [
  ...faults,
  ...["nothing listens", "slow", "a skewed clock", "a clock was set", "a publisher was killed"],
  ...["an image was pushed", "an image was adopted", "an index was replaced", "a version was promoted"],
  ...["a channel was created", "a channel was moved", "told TAG_CONFLICT", "told INDEX_CONFLICT"],
  "told LOCK_BUSY",
  ...["told REGISTRY_UNREACHABLE", "a node was told REGISTRY_FAILED", "an answer from a cache"],
  ...["a mirror was told INDEX_FOREIGN", "a node was told INDEX_FOREIGN", "a node was told INDEX_DOWNGRADE"],
];

it("the same seed is the same run, and another seed is another", { timeout: 240_000 }, async () => {
  const folder = makeFolder({});
  const [one, again, other] = [
    await runWorld(7, join(folder, "a")),
    await runWorld(7, join(folder, "b")),
    await runWorld(8, join(folder, "c")),
  ];
  expect(again.trace).toEqual(one.trace);
  expect(again.hash).toBe(one.hash);
  expect(other.hash).not.toBe(one.hash);
  expect(one.trace.length).toBeGreaterThan(200);
});

it(`no law is broken in seeds ${first} to ${last}`, { timeout: rounds(1_200_000, 24 * 3_600_000) }, async ({
  annotate,
}) => {
  const folder = makeFolder({});
  const seen = new Map<string, number>();
  const broken: string[] = [];
  for (let seed = first; seed <= last; seed++) {
    const world = await runWorld(seed, join(folder, String(seed)));
    for (const [what, times] of world.seen) seen.set(what, (seen.get(what) ?? 0) + times);
    if (only !== undefined) process.stderr.write(`${world.trace.join("\n")}\n`);
    if (isLong && seed % 500 === 0) process.stderr.write(`seed ${seed}: ${broken.length} broken\n`);
    if (world.broken.length === 0) continue;
    const lines = [`IMGMATCH_SEED=${seed}`, ...world.broken.slice(0, 5)];
    broken.push([...lines, ...(broken.length === 0 ? world.trace.slice(-told) : [])].join("\n"));
  }
  const counts = JSON.stringify(Object.fromEntries([...seen].sort()));
  await annotate(counts);
  if (isLong) process.stderr.write(`${counts}\n`);
  expect(broken.join("\n\n")).toBe("");
  if (only === undefined) expect(sometimes.filter((what) => !seen.has(what))).toEqual([]);
});
