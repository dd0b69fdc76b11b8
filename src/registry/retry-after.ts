/** The `Retry-After` header (RFC 9110, 10.2.3): seconds or a date. */

import type { HttpResponse } from "./transport.ts";

// A server may ask for an hour; a build that waits so long without a word looks hung.
const longestRetryAfterMs = 60_000;

/** Milliseconds from `now`, a minute at most; 0 where the header is missing or neither. */
export function retryAfterMs({ headers }: Pick<HttpResponse, "headers">, now: number): number {
  const text = headers["retry-after"]?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}
