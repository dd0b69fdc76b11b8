/** How a function's time grows with its input, measured so that a busy machine does not decide. */

/** Shorter, and the clock and the start of compiled code count for more than the work. */
const measurableMs = 30;
/** Twice the input takes twice the time, or four times when it is squared; between them, in the middle of a logarithmic scale. */
const mostGrowth = 3;
const rounds = 5;

export interface Growth {
  /** Size of the smaller input. */
  readonly size: number;
  /** Time for twice as much, as a multiple; each the least of several times. */
  readonly ratio: number;
}

/**
 * The growth at the first size that takes long enough to be measured; null when not even `most` does, which answers the question
 * of a hostile input as well. `make` is not part of what is measured.
 */
export async function measureGrowth<Input>(
  make: (size: number) => Input,
  work: (input: Input) => unknown,
  most: number,
): Promise<Growth | null> {
  for (let size = 1024; size * 2 <= most; size *= 2) {
    const input = make(size);
    // Twice, because the first time may have been spent on compiling, or on tidying up after others.
    let once = await cpuMs(input, work);
    if (once < measurableMs) continue;
    once = Math.min(once, await cpuMs(input, work));
    if (once < measurableMs) continue;
    const doubled = make(size * 2);
    let twice = await cpuMs(doubled, work);
    for (let round = 1; round < rounds && twice / once >= mostGrowth; round++) {
      once = Math.min(once, await cpuMs(input, work));
      twice = Math.min(twice, await cpuMs(doubled, work));
    }
    return { size, ratio: twice / once };
  }
  return null;
}

export function isLinear(growth: Growth | null): boolean {
  return growth === null || growth.ratio < mostGrowth;
}

/** Time of this process alone, so that others do not count. */
async function cpuMs<Input>(input: Input, work: (input: Input) => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work(input);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
