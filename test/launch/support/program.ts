/** `imgmatch` in this process: what it prints for these arguments. Relative paths start at the root of the repository. */

import { expect } from "vitest";
import { runCli } from "../../../src/cli.ts";

/** Standard output. Fails when the program does. */
export async function imgmatchPrints(args: readonly string[]): Promise<string> {
  let out = "";
  let err = "";
  const exitCode = await runCli(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env: {},
    cwd: process.cwd(),
    readStdin: async () => "",
    terminal: { animated: false, interactive: false, columns: 80, color: { out: false, err: false } },
    signal: new AbortController().signal,
    takeSignals: () => {},
  });
  expect(exitCode, err).toBe(0);
  return out;
}
