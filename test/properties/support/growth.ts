/** How a function's work grows with its input. */

import { countSteps } from "./steps.ts";

const size = 1024;
const factor = 8;
/** A sort grows a little faster than its input, a quadratic reader eight times as fast. */
const mostGrowth = 2 * factor;

export interface Growth {
  /** Steps for the smaller input, and for `factor` times as much. */
  readonly steps: readonly [number, number];
}

/** `make` is not part of what is counted. */
export async function measureGrowth<Input>(
  make: (size: number) => Input,
  work: (input: Input) => unknown,
): Promise<Growth> {
  // The first run makes tables that later ones find made.
  await work(make(size / 2));
  const [small, large] = [make(size), make(size * factor)];
  return { steps: [await countSteps(() => work(small)), await countSteps(() => work(large))] };
}

export function isLinear({ steps: [small, large] }: Growth): boolean {
  return large < mostGrowth * small;
}
