/** How often a property is tried: 100 times, or FAST_CHECK_RUNS. CI asks for more. */
export const runs = Number(process.env.FAST_CHECK_RUNS ?? 100);

/** How many random hosts the oracle is asked about: as many, or ORACLE_RUNS. */
export const oracleRuns = Number(process.env.ORACLE_RUNS ?? runs);

export const checkOptions = { numRuns: runs };

/** Enough for ten times the default on a slow machine. */
export const timeoutMs = Math.max(60_000, Math.max(runs, oracleRuns) * 30);
