/** The output option `rewrite-timestamp` of BuildKit 0.13 and newer: SOURCE_DATE_EPOCH for every file that a step writes. */

import { ImgmatchError } from "../../../errors.ts";

/** Runs one build with the option where it is wanted and taken, else without. */
export type Rewriting = <T>(
  onLog: (line: string) => void,
  build: (rewrite: boolean) => Promise<T>,
) => Promise<T>;

/**
 * The containerd image store of Docker 25 to 28 unpacks whatever is built, and the option excludes that. Only the attempt
 * tells, after the last step; the second one has all steps in its cache.
 */
export function createRewriting(wanted: boolean): Rewriting {
  let asks = wanted;
  return async (onLog, build) => {
    if (!asks) return build(false);
    try {
      return await build(true);
    } catch (error) {
      if (!(error instanceof ImgmatchError) || !isRefused(error.message)) throw error;
      asks = false;
      onLog("this engine cannot set the times of files that steps write: they stay as they are");
      return build(false);
    }
  };
}

// moby/buildkit, exporter/containerimage/export.go
function isRefused(message: string): boolean {
  return message.includes('exporter option "rewrite-timestamp" conflicts with');
}
