/** Trying again what may be done twice: reads, and writes of a name that nobody else writes. */

import { setTimeout as sleepFor } from "node:timers/promises";
import { RegistryError } from "./registry-error.ts";

/** Waits for `ms`; throws when the signal says so. Given by tests that have no time. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<unknown>;

export interface TryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly sleep?: Sleep | undefined;
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
export function retryDelayMs(attempts: number, random: () => number): number {
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
