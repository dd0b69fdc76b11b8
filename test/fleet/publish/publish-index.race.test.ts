/** Publishers of one tag behind a network that delays, refuses, fails and cuts: whoever ends well has told the truth. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLong, rounds } from "../../support/long.ts";
import { type HttpRegistry, startHttpRegistry } from "./support/http-registry.ts";
import { numbers, planFor, type Round, runRound, settleMs } from "./support/race.ts";

// Less wall time than one after the other; few enough that the machine keeps up.
const atOnce = 12;
const kinds = ["one inputs", "own inputs", "index"] as const;

describe.each([true, false])("publishers at once (registry removes tags: %s)", (removesTags) => {
  let server: HttpRegistry;
  let stalls = 0;
  let timer: NodeJS.Timeout;

  beforeAll(async () => {
    server = await startHttpRegistry({ removesTags });
    let last = performance.now();
    timer = setInterval(() => {
      const now = performance.now();
      if (now - last > settleMs / 4) stalls++;
      last = now;
    }, 10);
  });
  afterAll(async () => {
    clearInterval(timer);
    await server.stop();
  });

  it("none of 2 to 8 lies, whatever becomes of their writes", {
    timeout: rounds(600_000, 3_600_000),
  }, async ({ annotate }) => {
    const times = rounds(24, 500);
    const base = process.pid * 100_000;
    const random = numbers(base);
    server.plan = ({ method }) => planFor(random, 0.25)(method);
    const open: Round[] = Array.from({ length: times }, (_, index) => ({
      seed: base + index,
      kind: kinds[index % kinds.length] ?? "index",
      publishers: 2 + (index % 7),
    }));
    const counts = {
      rounds: 0,
      publishers: 0,
      succeeded: 0,
      repeated: 0,
      failed: {} as Record<string, number>,
    };
    const lies: string[] = [];
    async function work(): Promise<void> {
      for (let round = open.pop(); round !== undefined; round = open.pop()) {
        const before = stalls;
        const outcome = await runRound(round, server);
        // This process stood still for longer than a publisher may: no protocol holds then, and the round says nothing.
        if (outcome.lies.length > 0 && stalls > before) {
          counts.repeated++;
          open.push({ ...round, seed: round.seed + 50_000 });
          continue;
        }
        counts.rounds++;
        counts.publishers += round.publishers;
        counts.succeeded += outcome.succeeded;
        for (const code of outcome.failed) counts.failed[code] = (counts.failed[code] ?? 0) + 1;
        lies.push(...outcome.lies);
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work));
    await annotate(JSON.stringify(counts));
    if (isLong) process.stderr.write(`${JSON.stringify(counts)}\n`);
    expect(lies, JSON.stringify(counts)).toEqual([]);
    expect(counts.rounds).toBe(times);
    expect(counts.succeeded).toBeGreaterThan(counts.publishers / 4);
  });

  // The first write is refused with "come again later", and later is when the others have settled.
  it.each(kinds)("a write that is to be repeated begins with a look: %s", async (kind) => {
    const seed = removesTags ? 1 : 2;
    let refused = 0;
    server.plan = ({ method, name }) => {
      if (method !== "PUT" || name !== "1.0" || refused++ > 0) return {};
      return { fault: { kind: "refused", status: 429, retryAfter: "40" } };
    };
    const outcome = await runRound({ seed: seed + kinds.indexOf(kind) * 10, kind, publishers: 2 }, server);
    expect(refused).toBeGreaterThan(0);
    expect(outcome.lies).toEqual([]);
    expect(outcome.succeeded).toBeGreaterThan(0);
  });

  it.each(kinds)("a write that is held for 600 ms is waited for: %s", async (kind) => {
    const seed = removesTags ? 101 : 102;
    let held = 0;
    server.plan = ({ method, name }) =>
      method === "PUT" && name === "1.0" && held++ === 0 ? { delayMs: [600, 0] } : {};
    const outcome = await runRound({ seed: seed + kinds.indexOf(kind) * 10, kind, publishers: 2 }, server);
    expect(outcome.lies).toEqual([]);
    expect(outcome.succeeded).toBeGreaterThan(0);
  });
});
