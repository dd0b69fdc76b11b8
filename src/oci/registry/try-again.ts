/** Retries requests that may be done twice: reads, and writes of a name that nobody else writes. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { registryErrors, retryAfterMs, unreachable } from "./failure.ts";
import { isTemporaryStatus, RegistryError, TransportError } from "./registry-error.ts";
import type { Send } from "./transport.ts";

/** Rejects when the signal is aborted. Tests give one that does not wait. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<unknown>;

export interface TryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly sleep?: Sleep | undefined;
  /** At least 0, below 1. */
  readonly random?: (() => number) | undefined;
  /** Tries after the first. Default: {@link mostRetries}. */
  readonly retries?: number | undefined;
  /** Called with the error before each further try. */
  readonly onRetry?: ((error: RegistryError, attempt: number, waitMs: number) => void) | undefined;
}

export const mostRetries = 4;

export const waitFor: Sleep = (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal });

/** Of a request that the registry calls one too many (429): it will be taken once others have had their turn. */
const mostTurns = 20;

const firstDelayMs = 500;

const longestDelayMs = 15_000;

/** Full jitter: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/. `attempts` are the tries so far. */
function retryDelayMs(attempts: number, random: () => number): number {
  return random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempts - 1));
}

/** The wait after `attempts` tries, the last of which failed with `error`: at least what the registry asks for. */
export function waitAfter(error: RegistryError, attempts: number, random = Math.random): number {
  return Math.max(retryDelayMs(attempts, random), error.retryAfterMs);
}

/** Repeats an operation that fails, as long as `waitMs` tells a wait after its error. null: the error stays. */
export async function repeat<T>(
  operation: () => Promise<T>,
  waitMs: (error: unknown, attempts: number) => number | null,
  { signal, sleep = waitFor }: Pick<TryOptions, "signal" | "sleep"> = {},
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await operation();
    } catch (error) {
      const wait = waitMs(error, attempts);
      if (wait === null) throw error;
      await sleep(wait, signal);
    }
  }
}

/** A copy of the registry may learn so late what was written to another one. */
const longestLagMs = 30_000;

/** Reads again what was just written, as long as the registry does not have it yet. null if it has not come after 30 s. */
export async function untilThere<T>(
  read: () => Promise<T | null>,
  { signal, sleep = waitFor }: Pick<TryOptions, "signal" | "sleep"> = {},
): Promise<T | null> {
  for (let waitMs = 200, waitedMs = 0; ; waitMs = Math.min(2 * waitMs, 3000)) {
    const found = await read();
    if (found !== null || waitedMs >= longestLagMs) return found;
    await sleep(waitMs, signal);
    waitedMs += waitMs;
  }
}

export function tryAgain<T>(operation: () => Promise<T>, options: TryOptions = {}): Promise<T> {
  const { random, retries = mostRetries, onRetry } = options;
  const waitMs = (error: unknown, attempts: number) => {
    if (!(error instanceof RegistryError) || !error.temporary || attempts > retries) return null;
    const wait = waitAfter(error, attempts, random);
    onRetry?.(error, attempts, wait);
    return wait;
  };
  return repeat(operation, waitMs, options);
}

interface RetryPolicy extends Omit<TryOptions, "onRetry"> {
  /** No try begins so many milliseconds after the first. Default: five minutes. */
  readonly patienceMs?: number | undefined;
  /** Milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly now?: (() => number) | undefined;
}

/**
 * Retries a request, unless it is {@link HttpRequest.once}, with jitter and no sooner than the server asks for. Answers the last response
 * whatever its status. Throws `REGISTRY_UNREACHABLE` if the last try got none.
 */
export function withRetries(send: Send, policy: RetryPolicy): Send {
  const { signal, sleep = waitFor, random = Math.random, retries = mostRetries, now = Date.now } = policy;
  const { patienceMs = 300_000 } = policy;
  const turns = policy.retries ?? mostTurns;
  return async (request) => {
    let spentMs = 0;
    for (let attempts = 1; ; attempts++) {
      const began = performance.now();
      const isLast = (waitMs: number, most = retries) => {
        spentMs += waitMs + performance.now() - began;
        return request.once === true || attempts > most || spentMs > patienceMs;
      };
      let waitMs = retryDelayMs(attempts, random);
      try {
        const response = await send(request);
        const { status, body } = response;
        // Of other answers, an index of megabytes among them, the body tells nothing.
        const isTemporary = isTemporaryStatus(status, status === 400 ? registryErrors(body) : []);
        if (isTemporary) waitMs = Math.max(waitMs, retryAfterMs(response, now()));
        const most = status === 429 ? turns : retries;
        if (!isTemporary || isLast(waitMs, most)) return { ...response, attempts };
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        if (!error.temporary || isLast(waitMs)) throw unreachable(request, error, attempts);
      }
      await sleep(waitMs, signal).catch((error) => {
        throw signal?.aborted ? unreachable(request, new TransportError("interrupted"), attempts) : error;
      });
    }
  };
}
