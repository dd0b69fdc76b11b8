/** The script knows each state of `broken-states.ts`, and a state that it lacked would be found. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { GpuFacts, HostFacts } from "../../../src/facts/facts.ts";
import { type BrokenState, brokenStates, withBrokenStates } from "../../../src/facts/broken-states.ts";
import { makeFolder } from "../../support/folders.ts";
import { rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fittingMachine } from "./support/random-fitting.ts";
import { type Asked, askedOf, compare } from "./support/script-answers.ts";

const runs = rounds(200, 2000);
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261121);
/** Slow shells take their part of a second for each machine, more on a busy machine. */
const timeoutMs = Math.max(600_000, runs * 360);

const folder = makeFolder({});
chmodSync(folder, 0o755);
const dialects = findDialects(join(folder, "awks"));

/** Of the state of confidential computing nvidia-smi does not tell: docs/node.md says that the script goes without. */
const unseen = brokenStates.filter(({ brief }) => brief === undefined);

/** The GPUs that an imagined state finds. */
type Find = (gpus: readonly GpuFacts[]) => readonly GpuFacts[];

/** The facts as they would be if `broken-states.ts` had other rows, and one that no row can say. */
function withStates(
  { facts, ...asked }: Asked,
  states: readonly BrokenState[],
  find: Find = () => [],
): Asked {
  const messages = new Set(
    withBrokenStates({ ...facts, problems: [] }).problems.map(({ message }) => message),
  );
  const problems = facts.problems.filter(({ message }) => !messages.has(message));
  const told = withBrokenStates({ ...facts, problems }, states);
  const imagined = { code: "HOST_GPU_NOT_READY", message: "an imagined state", fix: "nothing" } as const;
  const isImagined = find(facts.nvidia?.gpus ?? []).length > 0;
  return { ...asked, facts: isImagined ? { ...told, problems: [...told.problems, imagined] } : told };
}

describe("on machines that an image fits", { ...needs(whyNoDialect(dialects)), timeout: timeoutMs }, () => {
  const asked: Asked[] = [];
  const seenStates = brokenStates.filter((state) => !unseen.includes(state));
  const wrongWith = (states: readonly BrokenState[], find?: Find) =>
    asked.flatMap((each) => compare(withStates(each, states, find)).wrong ?? []);

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
  const imagined: Readonly<Record<string, Find>> = {
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
    expect(wrongWith(seenStates, find)).not.toEqual([]);
  });

  test("each fact of a card has several values where an image with its code is chosen", () => {
    const facts = {
      ...{ index: 0, uuid: 0, name: 0, compute: 0, pci: 0, bus: 0, memoryMiB: 0, class: 0 },
      ...{ mig: 0, fabric: 0, computeMode: 0, remapFailed: 0, use: 0 },
      // A value other than this one is a broken state, or a Jetson's; a script asks for no licence and for no pairs.
      ...{ recovery: "none", integrated: false, licensed: undefined, numa: undefined, links: undefined },
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
