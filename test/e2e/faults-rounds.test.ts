/** A registry of which every tenth answer by chance is a fault, one kind a round: a command that ends with 0 has told the truth. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseFleetIndex, readFleetIndex } from "../../src/lock/store/read-fleet-index.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { chosenSeed } from "../hostile/bombarded.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";
import { numbers } from "../fleet/publish/support/race.ts";
import { type Fault, type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { rounds } from "../support/long.ts";
import { type RunningRegistry, startRegistry, whyNoRegistry } from "./support/registry.ts";
import { publishFleet, registry as client } from "./support/signed-fleet.ts";

const faults: readonly Fault[] = [
  ...[408, 412, 429, 500, 502, 503, 504].map((status): Fault => ({ kind: "status", status })),
  { kind: "truncate" },
  { kind: "corrupt" },
];
/** What a command may end with: the registry's failure, or a conflict that it could not see to be none. */
const honestCodes = [5, 6];
const mostTries = 100;
// Less wall time than one after the other; few enough that the machine keeps up.
const atOnce = 6;

describe("Every tenth answer of a registry is a fault", needs(whyNoRegistry()), () => {
  let server: RunningRegistry;
  let proxy: FaultProxy;
  const chances = new Map<string, () => number>();

  beforeAll(async () => {
    server = await startRegistry();
    proxy = await startFaultProxy(server.host);
    proxy.fault = ({ path }) => {
      const [, round] = /^\/v2\/r(\d+)\//.exec(path) ?? [];
      if (round === undefined) return null;
      const random = chances.get(round) ?? numbers(chosenSeed * 10_000 + Number(round));
      chances.set(round, random);
      return random() < 0.1 ? (faults[Number(round) % faults.length] ?? null) : null;
    };
  });
  afterAll(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  const times = rounds(30, 1000);
  it(`${times} rounds: the registry has what the lock says after each command that ends with 0 (HOSTILE_SEED=${chosenSeed})`, {
    timeout: 10_000 * times,
  }, async ({ annotate }) => {
    const counts = { ended: 0, failed: {} as Record<string, number> };
    const lies: string[] = [];
    const open = Array.from({ length: times }, (_, index) => index);
    async function work(): Promise<void> {
      for (let round = open.pop(); round !== undefined; round = open.pop()) {
        const told = (code: string) => {
          counts.failed[code] = (counts.failed[code] ?? 0) + 1;
        };
        lies.push(...(await runRound(round, told)).map((lie) => `round ${round}: ${lie}`));
        counts.ended++;
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work));
    await annotate(JSON.stringify({ ...counts, met: proxy.met.length }));
    expect(lies).toEqual([]);
    expect(proxy.met.length).toBeGreaterThan(3 * times);
  });

  /** Returns the untrue answers. */
  async function runRound(round: number, told: (code: string) => void): Promise<readonly string[]> {
    const name = `r${round}/app`;
    const [direct, behind] = [`${server.host}/${name}`, `${proxy.host}/${name}`];
    const { images } = await publishFleet(direct, "0", ["a", "b"]);
    const digests = [...images.values()].sort();
    const file = join(makeFolder({}), "imgmatch.lock.json");
    const locked = () =>
      Object.values(parseLock(readFileSync(file, "utf8"), "lock").images)
        .map(({ digest }) => digest)
        .sort();
    const indexed = async (tag: string) => {
      const reference = parseImageReference(`${direct}:${tag}`);
      const index = await readFleetIndex(client, reference);
      if (index === null) return [];
      return [...parseFleetIndex(index, reference).entries.values()].map(({ image }) => image.digest).sort();
    };
    const lock = ["--lock", file];
    const steps: readonly (readonly [args: readonly string[], has: () => unknown])[] = [
      [["adopt", `${behind}:0-a`, `${behind}:0-b`, "--march", "x86-64", ...lock], locked],
      [["publish", ...lock], () => indexed("1")],
      [["promote", `${behind}:1`, "2", ...lock], () => indexed("2")],
      [["verify", ...lock], locked],
    ];
    const lies: string[] = [];
    for (const [args, has] of steps)
      for (let tries = 1; ; tries++) {
        const { exit, err } = await runInProcess(args);
        if (exit !== 0) {
          told(/[A-Z]+(?:_[A-Z]+)+/.exec(err)?.[0] ?? err);
          if (!honestCodes.includes(exit)) lies.push(`${args[0]} ended with ${exit}: ${err}`);
          if (tries < mostTries) continue;
          lies.push(`${args[0]} does not end: ${err}`);
        } else {
          const found = await has();
          if (JSON.stringify(found) !== JSON.stringify(digests))
            lies.push(`${args[0]} ended with 0, and ${found} is there in place of ${digests}`);
        }
        break;
      }
    return lies;
  }
});
