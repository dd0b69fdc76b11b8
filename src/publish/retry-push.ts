/** Engines give up at the first answer of a registry that is no success: what may work the next time is tried again here. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { ImgmatchError } from "../errors.ts";
import type { BuildWatch } from "../build/engine.ts";

export interface PushRetries {
  /** Tries after the first. Default: 3. */
  readonly retries?: number;
  /** For tests. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  readonly random?: () => number;
}

const firstDelayMs = 1000;
// The words of Go's HTTP client, of distribution's and of containerd's errors, in which every engine tells what happened.
// Docker 29 leaves the status out of "error from registry": what is no refusal there may pass. A manifest's 400 may be
// about a blob that somebody else is just uploading: see registry/retry.ts.
const temporary =
  /HTTP status:? (408|429|5\d\d)|status code (408|429|5\d\d)|unexpected status from \w+ request to \S+: (408|429|5\d\d)|unexpected status from PUT request to \S+\/manifests\/\S+: 400|blob unknown|error from registry: |toomanyrequests|too many requests|connection (reset|refused)|broken pipe|\bEOF\b|i\/o timeout|TLS handshake timeout/i;

/**
 * Calls `push` until it does not fail with a `REGISTRY_FAILED` that may pass: only the layers that the registry does not have
 * yet travel again. A login that is refused stays refused.
 */
export async function retryPush<T>(
  push: () => Promise<T>,
  { signal, onLog }: BuildWatch,
  options: PushRetries = {},
): Promise<T> {
  const { retries = 3, random = Math.random } = options;
  const sleep = options.sleep ?? ((ms, signal) => sleepFor(ms, undefined, { signal }));
  for (let attempt = 1; ; attempt++) {
    try {
      return await push();
    } catch (error) {
      if (attempt > retries || !mayPass(error)) throw error;
      const waitMs = firstDelayMs * 2 ** (attempt - 1) * (0.5 + random() / 2);
      onLog(
        `${(error as Error).message}; try ${attempt + 1} of ${retries + 1} in ${(waitMs / 1000).toFixed(1)} s`,
      );
      await sleep(waitMs, signal);
    }
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof ImgmatchError && error.code === "REGISTRY_FAILED" && temporary.test(error.message);
}
