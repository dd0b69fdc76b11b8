/** Trying again what may be done twice: reads, and writes of a name that nobody else writes. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { registryErrors, retryAfterMs, unreachable } from "./failure.ts";
import { isTemporaryStatus, RegistryError, TransportError, transportError } from "./registry-error.ts";
import type { Send } from "./transport.ts";

/** Waits for `ms`; throws when the signal says so. Given by tests that have no time. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<unknown>;

export interface TryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly sleep?: Sleep | undefined;
  /** At least 0, below 1. */
  readonly random?: (() => number) | undefined;
  /** Tries after the first. Default: {@link mostRetries}. */
  readonly retries?: number | undefined;
  /** Hears what failed before it is tried again. */
  readonly onRetry?: ((error: RegistryError, attempt: number, waitMs: number) => void) | undefined;
}

/** As many as the registry client makes of a read. */
export const mostRetries = 4;

export const waitFor: Sleep = (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal });

const firstDelayMs = 500;

const longestDelayMs = 15_000;

/** Full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. `attempts`: tries so far. */
function retryDelayMs(attempts: number, random: () => number): number {
  return random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
}

/** How long to wait after `attempts` tries, the last of which failed so: no less than the registry asks for. */
export function waitAfter(error: RegistryError, attempts: number, random = Math.random): number {
  return Math.max(retryDelayMs(attempts, random), error.retryAfterMs);
}

export async function tryAgain<T>(operation: () => Promise<T>, options: TryOptions = {}): Promise<T> {
  const { signal, sleep = waitFor, random, retries = mostRetries, onRetry } = options;
  for (let attempts = 1; ; attempts++) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof RegistryError) || !error.temporary || attempts > retries) throw error;
      const waitMs = waitAfter(error, attempts, random);
      onRetry?.(error, attempts, waitMs);
      await sleep(waitMs, signal);
    }
  }
}

interface RetryPolicy extends Omit<TryOptions, "onRetry"> {
  /** Milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly now?: (() => number) | undefined;
}

/**
 * Tries again what may work the next time: bounded, with jitter, and no sooner than the server asks for. The last answer is returned
 * whatever its status; the last failure to get one is thrown as `REGISTRY_UNREACHABLE`. A request that may be sent only once is: see
 * {@link HttpRequest.once}.
 */
export function withRetries(send: Send, policy: RetryPolicy): Send {
  const { signal, sleep = waitFor, random = Math.random, retries = mostRetries, now = Date.now } = policy;
  return async (request) => {
    for (let attempts = 1; ; attempts++) {
      const last = request.once === true || attempts > retries;
      let waitMs = retryDelayMs(attempts, random);
      try {
        const response = await send(request);
        const isTemporary = isTemporaryStatus(response.status, registryErrors(response.body));
        if (last || !isTemporary) return { ...response, attempts };
        waitMs = Math.max(waitMs, retryAfterMs(response, now()));
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        if (last || !error.temporary) throw unreachable(request, error, attempts);
      }
      await sleep(waitMs, signal).catch((error) => {
        throw signal?.aborted ? unreachable(request, transportError("interrupted"), attempts) : error;
      });
    }
  };
}
