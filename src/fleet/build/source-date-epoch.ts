/** The time of every file in a reproducible build (reproducible-builds.org, SOURCE_DATE_EPOCH specification). */

/** Seconds since 1970; null where it is not set, or is no number. */
export function sourceDateEpoch(env: Readonly<Record<string, string | undefined>>): number | null {
  const text = env.SOURCE_DATE_EPOCH ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
}
