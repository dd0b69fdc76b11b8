/** Numbers by chance that are the same in each run. */

/** Numbers from 0 to below 1, the same for one seed. Mulberry32. */
export type Chance = () => number;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(chance: Chance, values: readonly T[]): T {
  const value = values[Math.floor(chance() * values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
}
