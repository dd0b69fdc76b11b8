/** Engines give up at the first answer of a registry that is no success: what may work the next time is tried again here. */

import { type TryOptions, tryAgain } from "../../oci/registry/try-again.ts";
import type { BuildWatch } from "./engine.ts";

export type PushRetries = Pick<TryOptions, "retries" | "sleep" | "random">;

/**
 * Calls `push` until it does not fail with what may pass: only the layers that the registry does not have yet travel again. A
 * login that is refused stays refused. The name that is pushed must be one that nobody else writes.
 */
export async function retryPush<T>(
  push: () => Promise<T>,
  { signal, onLog }: BuildWatch,
  options: PushRetries = {},
): Promise<T> {
  const { retries = 3 } = options;
  return tryAgain(push, {
    ...options,
    retries,
    signal,
    onRetry: (error, attempt, waitMs) =>
      onLog(`${error.message}; try ${attempt + 1} of ${retries + 1} in ${(waitMs / 1000).toFixed(1)} s`),
  });
}
