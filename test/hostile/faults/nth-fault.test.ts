/**
 * Each read, write, rename, program and request of a command fails once. Whatever it answers is true then, the lock is whole, nothing of
 * others is changed, no file is left, and the next run ends it. CI takes a sample of the places, and one of the faults that each can have;
 * `IMGMATCH_LONG=1` takes all.
 */

import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { numbers } from "../../fleet/publish/support/race.ts";
import { isLong, rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { type Case, cases } from "./cases.ts";
import { stateOf, tryFault } from "./truth.ts";
import { createWorld, type Place, type Ran, type World } from "./world.ts";

const bundle = "node_modules/.cache/imgmatch-faults";
/** Some places are waits. */
const atOnce = 3;
const sampled = 8;

/** The first and the last place of each sort, and some of those between. */
function placesOf({ points }: Ran, { always = [] }: Case): readonly Place[] {
  const all = (["process", "requests"] as const).flatMap((of) =>
    points[of].map((_, index) => ({ of, at: index + 1 })),
  );
  const random = numbers(69);
  const share = isLong ? 1 : sampled / all.length;
  const isEnd = ({ of, at }: Omit<Place, "as">) => at === 1 || at === points[of].length;
  return [
    ...always.map(([of, at, as]) => ({ of, at, as })),
    ...all
      .filter((place) => random() < share || isEnd(place))
      .map((place, index) => ({ ...place, as: isLong ? 0 : index })),
  ];
}

describe(
  "The n-th fault",
  needs(process.platform === "linux" ? null : "the stand-ins are scripts of Linux"),
  () => {
    beforeAll(() => {
      execFileSync(process.execPath, ["scripts/bundle.mjs", bundle], { stdio: "inherit" });
    }, 120_000);

    it.each(cases.filter(({ isSlow }) => isLong || !isSlow))(
      "of $name",
      {
        timeout: rounds(300_000, 7_200_000),
      },
      async (one) => {
        const worlds: World[] = [];
        onTestFinished(async () => void (await Promise.all(worlds.map((world) => world.stop()))));
        async function start() {
          const world = await createWorld(resolve(bundle, "cli.cjs"), one.host ?? []);
          worlds.push(world);
          await one.begin(world);
          world.keep();
          const before = stateOf(world, one);
          const whole = await world.run(one.args(world));
          expect(whole, whole.stderr).toMatchObject({ status: 0 });
          return { world, before, whole, after: stateOf(world, one) };
        }
        const first = await start();
        const { points } = first.whole;
        const open = [...placesOf(first.whole, one)];
        const lies: string[] = [];
        let tried = 0;

        async function work({ world, before, after }: typeof first): Promise<void> {
          for (let place = open.shift(); place !== undefined; place = open.shift()) {
            world.back();
            const { met, lies: found } = await tryFault(world, one, place, before, after);
            const { of, at, as } = place;
            // Names by chance may make a run one place shorter. What is always tried has to be there.
            if (met === null && typeof at === "string") lies.push(`no ${at}`);
            if (met === null) continue;
            tried++;
            lies.push(...found.map((lie) => `${of} ${at} ${as}, ${met.what}, ${met.kind}: ${lie}`));
            if (isLong && typeof at === "number" && as + 1 < met.kinds) open.unshift({ of, at, as: as + 1 });
          }
        }
        await Promise.all([
          work(first),
          ...Array.from({ length: atOnce - 1 }, async () => work(await start())),
        ]);
        expect(lies).toEqual([]);
        expect(tried).toBeGreaterThanOrEqual(Math.min(sampled / 2, points.process.length));
        // What is started or read in another way would meet no fault.
        expect(points.process.filter((name) => name.startsWith("UNSEEN"))).toEqual([]);
      },
    );
  },
);
