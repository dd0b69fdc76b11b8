/** `imgmatch` in this process: what it prints for these arguments. Relative paths start at the root of the repository. */

import { expect } from "vitest";
import { runInProcess } from "../../../support/run-cli.ts";

/** Standard output. Fails when the program does. */
export async function imgmatchPrints(args: readonly string[]): Promise<string> {
  const { exit, out, err } = await runInProcess(args);
  expect(exit, err).toBe(0);
  return out;
}
