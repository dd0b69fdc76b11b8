/** Tries again what may work the next time: bounded, with jitter, and no sooner than the server asks for. */

import { setTimeout } from "node:timers/promises";
import { registryErrors, unreachable } from "./failure.ts";
import type { HttpResponse, Send } from "./transport.ts";
import { TransportError, transportError } from "./transport-error.ts";

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retries: number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** At least 0, below 1. */
  readonly random: () => number;
  /** Milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly now: () => number;
  readonly signal?: AbortSignal | undefined;
}

const firstDelayMs = 500;
const longestDelayMs = 15_000;
// A server may ask for an hour; a build that waits so long without a word looks hung.
const longestRetryAfterMs = 60_000;

/** The last answer is returned whatever its status; the last failure to get one is thrown as `REGISTRY_UNREACHABLE`. */
export function withRetries(send: Send, policy: RetryPolicy): Send {
  return async (request) => {
    for (let attempts = 1; ; attempts++) {
      const last = attempts > policy.retries;
      let waitMs = policy.random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
      try {
        const response = await send(request);
        if (last || !isTemporary(response)) return { ...response, attempts };
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

export async function sleepFor(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
}

/**
 * 501 and 505 say what the server is, not how it feels. A registry that keeps files (distribution, storage/driver/filesystem)
 * empties the link of a blob before it writes it anew: while somebody uploads the same blob, it does not know it.
 */
function isTemporary({ status, body }: HttpResponse): boolean {
  if (status === 400) return /\bMANIFEST_BLOB_UNKNOWN\b/.test(registryErrors(body));
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/** RFC 9110, 10.2.3: seconds or a date. 0 where the header is missing or neither. */
function retryAfterMs({ headers }: HttpResponse, now: number): number {
  const text = headers["retry-after"]?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}
