import fc from "fast-check";

/** How often a property is tried: 100 times, or FAST_CHECK_RUNS. CI asks for more. */
export const runs = Number(process.env.FAST_CHECK_RUNS ?? 100);

/** How many random hosts the oracle is asked about: as many, or ORACLE_RUNS. */
export const oracleRuns = Number(process.env.ORACLE_RUNS ?? runs);

export const checkOptions = { numRuns: runs };

/** Asserts a property, with more examples while what it must meet is not seen: 20 times as many, then it fails. */
export function assertSeen<T>(
  property: fc.IProperty<T>,
  options: { readonly numRuns: number; readonly seed?: number; readonly endOnFailure?: boolean },
  seen: () => boolean,
): void {
  for (let round = 0; round < 20; round++) {
    fc.assert(property, options.seed === undefined ? options : { ...options, seed: options.seed + round });
    if (seen()) return;
  }
  throw new Error("no example had what this property is about");
}

/** Enough for ten times the default on a slow machine. */
export const timeoutMs = Math.max(60_000, Math.max(runs, oracleRuns) * 30);
