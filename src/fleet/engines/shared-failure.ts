/**
 * Gives every cell that a shared step fails the output of that step. BuildKit runs a common step of several builds once, and sends the output
 * to the builds that were running at the time (moby/buildkit, solver/jobs.go); the others hear of its end alone.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { BuildFailure } from "./build-failure.ts";

export type SharedFailures = ReturnType<typeof createSharedFailures>;

type Complete = (failure: BuildFailure) => Promise<BuildFailure>;

const heading = "what the failing step printed, as it was sent to another cell's build:";

interface Printed {
  readonly step: string;
  readonly lines: readonly string[];
  /** Builds that were running then, by number: only they can have shared the step. */
  readonly beside: ReadonlySet<number>;
}

/** The streams of two builds end at about the same time, in any order. */
const patienceMs = 1_000;

export function createSharedFailures() {
  /** Build → the builds that have run at the same time. */
  const running = new Map<number, Set<number>>();
  const printed = new Map<string, Printed[]>();
  let count = 0;
  async function complete(
    build: number,
    beside: ReadonlySet<number>,
    failure: BuildFailure,
  ): Promise<BuildFailure> {
    const { step, message, lastLines } = failure;
    if (step !== null && lastLines.length > 0) {
      printed.set(message, [...(printed.get(message) ?? []), { step, lines: lastLines, beside }]);
      return failure;
    }
    const deadline = performance.now() + patienceMs;
    while (beside.size > 1) {
      const found = printed
        .get(message)
        ?.find((one) => one.beside.has(build) && (step === null || commandOf(one.step) === commandOf(step)));
      // Not even which step it was is always sent; the message has what it ran.
      if (found !== undefined) return { message, step: step ?? found.step, lastLines: found.lines };
      if (performance.now() > deadline) break;
      await sleep(50);
    }
    return failure;
  }
  return {
    /** Runs one build. A failed build takes the missing output from the other builds, and writes the output to the log. */
    async during<T>(onLog: (line: string) => void, run: (complete: Complete) => Promise<T>): Promise<T> {
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
function commandOf(step: string): string {
  return step.replace(/^\[[^\]]*\] /, "");
}
