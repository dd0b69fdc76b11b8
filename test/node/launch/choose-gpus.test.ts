import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import type { GpuFacts, HostFacts } from "../../../src/facts/facts.ts";
import { chooseGpus } from "../../../src/node/launch/choose-gpus.ts";
import {
  type GpuUnit,
  kindOf,
  isTaken,
  narrowTo,
  unitsOf,
  useOf,
} from "../../../src/node/launch/gpu-units.ts";
import { gpusBusy, parseComputeApps } from "../../../src/node/launch/gpus-busy.ts";
import { orderSteps } from "../../../src/resolve/order-steps.ts";
import { compareCandidates } from "../../../src/resolve/rank.ts";
import { type Ranking, rankImages } from "../../../src/resolve/resolve-image.ts";
import { nvidiaLock } from "../../properties/support/machines.ts";
import { checkOptions, runs, timeoutMs } from "../../properties/support/runs.ts";
import { a100, cpuHost, gpu, gpuHost, h100, v100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";

const use = fc.constantFrom<GpuFacts["use"]>(
  { processes: 0, memoryMiB: 1 },
  { processes: 0, memoryMiB: 34 },
  { processes: 2, memoryMiB: 40000 },
  { processes: null, memoryMiB: 4 },
  { processes: null, memoryMiB: 900 },
  { processes: null, memoryMiB: null },
);
const slices = fc.constantFrom<GpuFacts["mig"]>(
  [],
  [],
  [
    { uuid: "MIG-1", profile: "3g.40gb" },
    { uuid: "MIG-2", profile: "3g.40gb" },
  ],
);
const card = fc.record({ product: fc.constantFrom(a100, h100, v100), use, mig: slices }).map(
  ({ product, use: state, mig }): GpuFacts => ({
    ...product,
    use: state,
    mig: product === v100 ? [] : mig,
  }),
);
const host: fc.Arbitrary<HostFacts> = fc
  .record({
    cards: fc.array(card, { maxLength: 4 }),
    driver: fc.constantFrom("525.60.13", "570.124.06", "450.80.02"),
  })
  .map(({ cards, driver }) => gpuHost(cards, driver));

describe("GPUs for a container", () => {
  it("are never none because one that is named is not there", () => {
    const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_80"])), cpu: image() });
    const named = (facts: HostFacts, ...names: readonly string[]) =>
      refusalOf(() => chooseGpus(lock, facts, { kind: "named", names }));
    const two = gpuHost([a100, a100], "570.124.06");
    expect(named(two, "7")).toMatchObject({ message: 'there is no GPU "7"', fix: "choose among 0, 1" });
    expect(named(two, "0", "7")).toMatchObject({ code: "SELECTION_INVALID" });
    // In MIG mode a GPU is its instances.
    const mig = [{ uuid: "MIG-1", profile: "3g.40gb" }];
    expect(named(gpuHost([{ ...a100, mig }], "570.124.06"), "0")).toMatchObject({ fix: "choose among 0:0" });
    expect(named(cpuHost(), "0")).toMatchObject({ fix: "this host has no GPU; ask for none" });
    expect(chooseGpus(lock, two, { kind: "named", names: ["1"] })).toMatchObject({
      ok: true,
      units: [{ name: "1" }],
    });
  });

  it(`are free, enough, and run the best image that ${runs} random hosts allow`, {
    timeout: timeoutMs,
  }, () => {
    let chosen = 0;
    fc.assert(
      fc.property(
        host,
        nvidiaLock,
        fc.integer({ min: 1, max: 3 }),
        fc.boolean(),
        (facts, lock, count, allowBusy) => {
          const choice = chooseGpus(lock, facts, { kind: "count", count }, { allowBusy });
          const free = unitsOf(facts).filter((unit) => allowBusy || !isTaken(useOf(unit)));
          if (free.length < count) {
            expect(choice).toMatchObject({ ok: false, wanted: count });
            return;
          }
          if (!choice.ok) throw new Error("enough GPUs are free");
          expect(choice.units).toHaveLength(count);
          expect(new Set(choice.units.map(({ name }) => name)).size).toBe(count);
          for (const unit of choice.units) expect(free.map(({ name }) => name)).toContain(unit.name);
          expect(choice.host).toEqual(narrowTo(facts, choice.units));
          const best = bruteForce(free, count, (units) => rankImages(lock, narrowTo(facts, units)));
          const winner = choice.ranking.ranked.find(({ image }) => image.requires.cuda !== null);
          if (best === null) {
            expect(winner).toBeUndefined();
            return;
          }
          chosen++;
          if (winner === undefined) throw new Error("some GPUs run an image");
          expect(compareCandidates(serving(choice.ranking.order), winner, best.winner)).toBe(0);
          expect(new Set(choice.units.map(kindOf)).size).toBe(best.kinds);
        },
      ),
      checkOptions,
    );
    // Of a hundred, seven in the mean.
    expect(chosen).toBeGreaterThan(0);
  });

  it("are the newer ones where nothing else decides", () => {
    const lock = lockOf({
      a: gpuImage(cuda("12.8.1", ["sm_80"])),
      b: gpuImage(cuda("12.8.1", ["sm_90"])),
    });
    const choice = chooseGpus(lock, gpuHost([a100, h100], "570.124.06"), { kind: "count", count: 1 });
    expect(choice.ok && choice.units.map(({ name }) => name)).toEqual(["1"]);
    expect(choice.ok && choice.ranking.ranked[0]?.cell).toBe("b");
  });

  it("are equal, though the better card would be one of them", () => {
    const lock = lockOf({ both: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"])) });
    const choice = chooseGpus(lock, gpuHost([h100, a100, a100], "570.124.06"), { kind: "count", count: 2 });
    expect(choice.ok && choice.units.map(({ name }) => name)).toEqual(["1", "2"]);
  });

  it("may be instances, by their number on the whole GPU", () => {
    const sliced = gpu({
      ...h100,
      use: { processes: null, memoryMiB: 1 },
      mig: [
        { uuid: "MIG-1", profile: "3g.40gb" },
        { uuid: "MIG-2", profile: "3g.40gb" },
      ],
    });
    const lock = lockOf({ a: gpuImage(cuda("12.8.1", ["sm_90"])) });
    const facts = gpuHost([sliced], "570.124.06");
    const choice = chooseGpus(lock, facts, { kind: "named", names: ["0:1"] });
    expect(choice.ok && choice.units.map(({ name, mig }) => [name, mig?.uuid])).toEqual([["0:1", "MIG-2"]]);
    expect(choice.ok && choice.host.nvidia?.gpus[0]?.mig).toEqual([{ uuid: "MIG-2", profile: "3g.40gb" }]);
  });

  it("are refused when named and in use, and given when their use cannot be told", () => {
    const lock = lockOf({ a: gpuImage(cuda("12.8.1", ["sm_90"])) });
    const busy = gpu({ ...h100, use: { processes: 1, memoryMiB: 900 } });
    const open = gpu({ ...h100, use: { processes: null, memoryMiB: null } });
    const facts = gpuHost([busy, open], "570.124.06");
    expect(chooseGpus(lock, facts, { kind: "named", names: ["0"] })).toMatchObject({ ok: false });
    expect(chooseGpus(lock, facts, { kind: "named", names: ["1"] })).toMatchObject({ ok: true });
    expect(chooseGpus(lock, facts, { kind: "count", count: 1 })).toMatchObject({ ok: false });
    expect(chooseGpus(lock, facts, { kind: "count", count: 2 }, { allowBusy: true })).toMatchObject({
      ok: true,
    });
  });
});

describe("who holds the others", () => {
  const facts = gpuHost(
    [
      { ...h100, uuid: "GPU-aaaa", use: { processes: 2, memoryMiB: 40000 } },
      { ...h100, uuid: "GPU-bbbb", use: { processes: null, memoryMiB: null } },
    ],
    "570.124.06",
  );
  const csv = "GPU-aaaa, 4711, /usr/bin/python, train, 38912\nGPU-aaaa, 99, [Not Found], [N/A]\nnonsense\n";

  it("is read from nvidia-smi", () => {
    expect([...parseComputeApps(csv, unitsOf(facts))]).toEqual([
      [
        "0",
        [
          { pid: 4711, program: "python, train", memoryMiB: 38912 },
          { pid: 99, program: null, memoryMiB: null },
        ],
      ],
    ]);
  });

  it("is said with the numbers", () => {
    const choice = chooseGpus(lockOf({}), facts, { kind: "count", count: 2 });
    if (choice.ok) throw new Error("both are taken");
    const error = gpusBusy(choice, parseComputeApps(csv, unitsOf(facts)));
    expect(error).toBeInstanceOf(ImgmatchError);
    expect(error.message).toBe(
      [
        "GPU_BUSY: 2 free GPUs asked for, 0 of 2 are free",
        "  GPU 0 (NVIDIA H100 80GB HBM3): 2 processes, 40000 MiB used: python, train (pid 4711, 38912 MiB), a process (pid 99)",
        "  GPU 1 (NVIDIA H100 80GB HBM3): its use is not known",
        "  fix: wait for the processes to end, ask for fewer or other GPUs, or share them with --allow-busy",
      ].join("\n"),
    );
  });
});

it("moves no terminal's cursor with the name of a GPU or of a program", () => {
  const facts = gpuHost(
    [{ ...h100, name: "\u001b[2JH\n", use: { processes: 1, memoryMiB: 1 } }],
    "570.124.06",
  );
  const choice = chooseGpus(lockOf({}), facts, { kind: "count", count: 1 });
  if (choice.ok) throw new Error("it is taken");
  const holders = new Map([["0", [{ pid: 1, program: "\u001b]0;x\u0007", memoryMiB: null }]]]);
  expect(gpusBusy(choice, holders).message).toContain(
    "GPU 0 (\\u001b[2JH\\u000a): 1 process, 1 MiB used: \\u001b]0;x\\u0007 (pid 1)",
  );
});

interface Best {
  readonly winner: Ranking["ranked"][number];
  readonly kinds: number;
}

/** Every set of units, one after the other. */
function bruteForce(
  free: readonly GpuUnit[],
  count: number,
  rank: (units: readonly GpuUnit[]) => Ranking,
): Best | null {
  let best: Best | null = null;
  for (let bits = 0; bits < 2 ** free.length; bits++) {
    const units = free.filter((_, index) => (bits >> index) % 2 === 1);
    if (units.length !== count) continue;
    const ranking = rank(units);
    const winner = ranking.ranked.find(({ image }) => image.requires.cuda !== null);
    if (winner === undefined) continue;
    const kinds = new Set(units.map(kindOf)).size;
    const difference =
      best === null
        ? -1
        : compareCandidates(serving(ranking.order), winner, best.winner) || kinds - best.kinds;
    if (difference < 0) best = { winner, kinds };
  }
  return best;
}

/** The steps that say how well an image serves. */
function serving(order: Ranking["order"]): Ranking["order"] {
  return order.filter((step) => step !== orderSteps.targets && step !== orderSteps.tag);
}

function refusalOf(choose: () => unknown): unknown {
  try {
    return choose();
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems[0];
    throw error;
  }
}
