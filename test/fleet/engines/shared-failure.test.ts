import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { BuildFailure } from "../../../src/fleet/engines/build-failure.ts";
import { createSharedFailures } from "../../../src/fleet/engines/shared-failure.ts";

const failed = (step: string | null, ...lastLines: string[]): BuildFailure => ({
  step,
  message: "exit code: 2",
  lastLines,
});

async function build(
  shared: ReturnType<typeof createSharedFailures>,
  failure: BuildFailure,
  afterMs: number,
): Promise<readonly [readonly string[], readonly string[]]> {
  const log: string[] = [];
  const { lastLines } = await shared.during(
    (line) => log.push(line),
    async (complete) => {
      await sleep(afterMs);
      return complete(failure);
    },
  );
  return [lastLines, log];
}

test("what a shared step printed is told to all whose builds ran beside, whoever hears of the end first", async () => {
  const shared = createSharedFailures();
  const [told, first, last, stepless] = await Promise.all([
    build(shared, failed("[build 2/3] RUN make", "main.c:1: error"), 50),
    build(shared, failed("[build 2/3] RUN make"), 0),
    build(shared, failed("[2/5] RUN make"), 100),
    build(shared, failed(null), 0),
  ]);
  expect(told).toEqual([["main.c:1: error"], []]);
  for (const [lines, log] of [first, last, stepless]) {
    expect(lines).toEqual(["main.c:1: error"]);
    expect(log).toEqual([expect.stringContaining("another cell's build"), "main.c:1: error"]);
  }
});

test("another step, another failure and a build of before lend nothing", async () => {
  const shared = createSharedFailures();
  await build(shared, failed("[1/2] RUN make", "of before"), 0);
  const [silent, other] = await Promise.all([
    build(shared, failed("[1/2] RUN make"), 0),
    build(shared, failed("[1/2] RUN make test", "other"), 0),
  ]);
  expect(silent).toEqual([[], []]);
  expect(other).toEqual([["other"], []]);
});
