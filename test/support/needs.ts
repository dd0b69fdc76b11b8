/**
 * Skips a test where this machine lacks a part that it needs. Every skip goes through here or through `skip(why)` inside a test, so that
 * the run ends with one list of all skips (skip-reporter.ts): `describe("marches", needs(whyNoEmulator), () => …)`.
 */

import type { TestOptions } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    missing?: string;
  }
}

/**
 * Options of a test or of a group of tests: skipped with this reason, or run where it is null. The reason says what is missing and,
 * in brackets, how to get it: `no busybox (apt-get install busybox-static)`.
 */
export function needs(...missing: readonly (string | null)[]): TestOptions {
  const why = missing.find((each) => each !== null) ?? null;
  return why === null ? {} : { skip: true, meta: { missing: why } };
}
