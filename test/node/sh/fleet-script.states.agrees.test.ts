/** The script knows each state of `broken-states.ts`, and a state that it lacked would be found. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { GpuFacts, HostFacts } from "../../../src/facts/facts.ts";
import { brokenStates, withBrokenStates } from "../../../src/facts/broken-states.ts";
import { unknownGpu, unknownNvidia } from "../../../src/facts/no-facts.ts";
import { makeFolder } from "../../support/folders.ts";
import { rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fittingMachine } from "./support/random-fitting.ts";
import { type Asked, askedOf, compare } from "./support/script-answers.ts";

type State = (typeof brokenStates)[number];

const runs = rounds(200, 2000);
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261121);
/** Slow shells take their part of a second for each machine, more on a busy machine. */
const timeoutMs = Math.max(600_000, runs * 360);

const folder = makeFolder({});
chmodSync(folder, 0o755);
const dialects = findDialects(join(folder, "awks"));

/** Of the state of confidential computing nvidia-smi does not tell: docs/node.md says that the script goes without. */
const unseen = brokenStates.filter(
  ({ find }) => find({ ...unknownNvidia, ready: false, gpus: [unknownGpu(0)] }).length > 0,
);

/** The facts as they would be if `broken-states.ts` had other rows. */
function withStates({ facts, ...asked }: Asked, states: readonly State[]): Asked {
  const messages = new Set(
    withBrokenStates({ ...facts, problems: [] }).problems.map(({ message }) => message),
  );
  const problems = facts.problems.filter(({ message }) => !messages.has(message));
  return { ...asked, facts: withBrokenStates({ ...facts, problems }, states) };
}

describe("on machines that an image fits", { ...needs(whyNoDialect(dialects)), timeout: timeoutMs }, () => {
  const asked: Asked[] = [];
  const seenStates = brokenStates.filter((state) => !unseen.includes(state));
  const wrongWith = (states: readonly State[]) =>
    asked.flatMap((each) => compare(withStates(each, states)).wrong ?? []);

  beforeAll(async () => {
    const draws = {
      machine: fittingMachine,
      lock: () => wholeFleet((cell) => /^(none|12\.8a?|13\.0)_x86-64/.test(cell)),
      pins: () => ({}),
    };
    for await (const each of askedOf({ ...draws, runs, perFleet: 25 }, seed, dialects, folder))
      if (!each.options.cpuOnly) asked.push(each);
  }, timeoutMs);

  test("the script answers as resolve does", () => {
    expect(wrongWith(seenStates).join("\n"), `seed ${seed}`).toBe("");
    const answers = asked.map((each) => compare(withStates(each, seenStates)).answer);
    for (const answer of ["nvidia", "broken"])
      expect(answers.filter((each) => each === answer).length, answer).toBeGreaterThan(runs / 5);
  });

  test.each(brokenStates.map((state, index) => [`${index}, ${state.code}`, state] as const))(
    "and would not without the state %s",
    (_name, state) => {
      if (unseen.includes(state)) expect(wrongWith(brokenStates)).not.toEqual([]);
      else expect(wrongWith(seenStates.filter((each) => each !== state))).not.toEqual([]);
    },
  );

  /** No rules of ours: each joins facts that harm nothing. */
  const imagined: Readonly<Record<string, (gpus: readonly GpuFacts[]) => readonly GpuFacts[]>> = {
    "all cards Exclusive_Process and busy": (gpus) =>
      gpus.every(({ computeMode, use }) => computeMode === "exclusive" && (use.processes ?? 0) > 0)
        ? gpus
        : [],
    "a busy card": (gpus) => gpus.filter(({ use }) => (use.processes ?? 0) > 0),
    "a card whose memory is full": (gpus) =>
      gpus.filter(({ memoryMiB, use }) => memoryMiB !== null && use.memoryMiB === memoryMiB),
    "MIG beside an exclusive mode": (gpus) =>
      gpus.filter(({ mig, computeMode }) => (mig?.length ?? 0) > 0 && computeMode === "exclusive"),
    "a fabric beside busy cards": (gpus) =>
      gpus.filter(({ fabric, use }) => fabric === "completed" && (use.processes ?? 0) > 0),
    "one card busy, and another idle": (gpus) =>
      gpus.some(({ use }) => use.processes === 0) ? gpus.filter(({ use }) => use.processes === 40) : [],
    "no word of the mode": (gpus) => gpus.filter(({ computeMode }) => computeMode === undefined),
  };
  test.each(Object.entries(imagined))("nor with a state that the script lacks: %s", (_name, find) => {
    const state: State = {
      code: "HOST_GPU_NOT_READY",
      find: ({ gpus }) => find(gpus),
      message: (labels) => `an imagined state of GPU ${labels}`,
      fix: () => "nothing",
    };
    expect(wrongWith([...seenStates, state])).not.toEqual([]);
  });

  test("each fact of a card has several values where an image with its code is chosen", () => {
    const facts = {
      ...{ index: 0, uuid: 0, name: 0, compute: 0, pci: 0, bus: 0, memoryMiB: 0, class: 0 },
      ...{ mig: 0, fabric: 0, computeMode: 0, remapFailed: 0, use: 0 },
      // A value other than this one is a broken state, or a Jetson's.
      ...{ recovery: "none", integrated: false },
    } satisfies Record<keyof GpuFacts, unknown>;
    const cards = asked
      .filter((each) => compare(withStates(each, seenStates)).answer === "nvidia")
      .flatMap(({ facts }: { readonly facts: HostFacts }) => facts.nvidia?.gpus ?? []);
    for (const [fact, only] of Object.entries(facts)) {
      const values = new Set(cards.map((card) => JSON.stringify(card[fact as keyof GpuFacts])));
      if (only === 0) expect(values.size, fact).toBeGreaterThan(1);
      else expect(values, fact).toContain(JSON.stringify(only));
    }
    expect(new Set(cards.map(({ use }) => use.processes))).toEqual(new Set([null, 0, 1, 40]));
  });
});
