/** The time of every file in a reproducible build (reproducible-builds.org, SOURCE_DATE_EPOCH specification). */

import { ImgmatchError } from "../../errors.ts";

/** Seconds since 1970; null where it is not set, or is no number. */
export function sourceDateEpoch(env: Readonly<Record<string, string | undefined>>): number | null {
  const text = env.SOURCE_DATE_EPOCH ?? "";
  return /^\d+$/.test(text) ? Number(text) : null;
}

// moby/buildkit, exporter/containerimage/export.go
const refusal = 'exporter option "rewrite-timestamp" conflicts with';

/** 1980-02-01T00:00Z: zip holds no time before 1980, and 1980-01-01 is in 1979 west of Greenwich. */
export const usualTime = 318_211_200;

/** The time of every file of a build context, in seconds since 1970. */
export function contextTime(env: Readonly<Record<string, string | undefined>>): number {
  return sourceDateEpoch(env) ?? usualTime;
}

/**
 * Runs one build with the option where it is wanted and taken, else without. The containerd image store of Docker 25 to 28 unpacks whatever is
 * built, and the option excludes that. Only the attempt tells, after the last step; the second one has all steps in its cache.
 */
export function createRewriting(wanted: boolean) {
  let asks = wanted;
  return async <T>(onLog: (line: string) => void, build: (rewrite: boolean) => Promise<T>): Promise<T> => {
    if (!asks) return build(false);
    try {
      return await build(true);
    } catch (error) {
      if (!(error instanceof ImgmatchError) || !error.message.includes(refusal)) throw error;
      asks = false;
      onLog("this engine cannot set the times of files that steps write: they stay as they are");
      return build(false);
    }
  };
}
