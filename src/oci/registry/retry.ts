/** Tries again what may work the next time: bounded, with jitter, and no sooner than the server asks for. */

import { registryErrors, retryAfterMs, unreachable } from "./failure.ts";
import { isTemporaryStatus } from "./registry-error.ts";
import { retryDelayMs, type Sleep } from "./try-again.ts";
import type { Send } from "./transport.ts";
import { TransportError, transportError } from "./transport-error.ts";

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retries: number;
  readonly sleep: Sleep;
  /** At least 0, below 1. */
  readonly random: () => number;
  /** Milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The last answer is returned whatever its status; the last failure to get one is thrown as `REGISTRY_UNREACHABLE`. What may
 * be sent only once is: see {@link HttpRequest.once}.
 */
export function withRetries(send: Send, policy: RetryPolicy): Send {
  return async (request) => {
    for (let attempts = 1; ; attempts++) {
      const last = request.once === true || attempts > policy.retries;
      let waitMs = retryDelayMs(attempts, policy.random);
      try {
        const response = await send(request);
        const isTemporary = isTemporaryStatus(response.status, registryErrors(response.body));
        if (last || !isTemporary) return { ...response, attempts };
        waitMs = Math.max(waitMs, retryAfterMs(response, policy.now()));
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        if (last || !error.temporary) throw unreachable(request, error, attempts);
      }
      await policy.sleep(waitMs, policy.signal).catch((error) => {
        throw policy.signal?.aborted ? unreachable(request, transportError("interrupted"), attempts) : error;
      });
    }
  };
}
