/**
 * What a failing step printed, for all cells that it fails. BuildKit runs a step that several builds have in common once, and sends
 * what it prints to those that were there when it was printed (moby/buildkit, solver/jobs.go); the others hear of its end alone.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { BuildFailure } from "./docker/build-output.ts";

export interface SharedFailures {
  /** Runs one build, which completes its failure with what it was not sent, and writes that to its log. */
  during<T>(onLog: (line: string) => void, build: (complete: Complete) => Promise<T>): Promise<T>;
}

export type Complete = (failure: BuildFailure) => Promise<BuildFailure>;

const heading = "what the failing step printed, as it was sent to another cell's build:";

interface Printed {
  readonly lines: readonly string[];
  /** Builds that were running then, by number: only they can have shared the step. */
  readonly beside: ReadonlySet<number>;
}

/** The streams of two builds end at about the same time, in any order. */
const patienceMs = 1_000;

export function createSharedFailures(): SharedFailures {
  /** By build: those that run beside it, or did while it ran. */
  const running = new Map<number, Set<number>>();
  const printed = new Map<string, Printed[]>();
  let count = 0;
  async function complete(
    build: number,
    beside: ReadonlySet<number>,
    failure: BuildFailure,
  ): Promise<BuildFailure> {
    const { step, message, lastLines } = failure;
    if (step === null) return failure;
    const key = keyOf(step, message);
    if (lastLines.length > 0) {
      printed.set(key, [...(printed.get(key) ?? []), { lines: lastLines, beside }]);
      return failure;
    }
    const deadline = performance.now() + patienceMs;
    while (beside.size > 1) {
      const found = printed.get(key)?.find((one) => one.beside.has(build));
      if (found !== undefined) return { ...failure, lastLines: found.lines };
      if (performance.now() > deadline) break;
      await sleep(50);
    }
    return failure;
  }
  return {
    async during(onLog, run) {
      const build = ++count;
      const beside = new Set([build, ...running.keys()]);
      for (const others of running.values()) others.add(build);
      running.set(build, beside);
      try {
        return await run(async (failure) => {
          const whole = await complete(build, beside, failure);
          if (whole !== failure) for (const line of [heading, ...whole.lastLines]) onLog(line);
          return whole;
        });
      } finally {
        running.delete(build);
      }
    },
  };
}

/** `[build 2/3] RUN make`: the place of a step may differ from cell to cell, what it runs does not. */
function keyOf(step: string, message: string): string {
  return `${step.replace(/^\[[^\]]*\] /, "")}\0${message}`;
}
