/** `imgmatch` in this process: the arguments of a command line → its exit code and what it prints. */

import type { CommandContext } from "../../src/cli/command.ts";
import { runCli } from "../../src/cli/cli.ts";
import { allCommands } from "../../src/cli/command-table.ts";
import { ports } from "../../src/ports.ts";

export interface Ran {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** As in a pipe of 80 columns with nothing on standard input; by default without an environment, in the current folder. */
export async function runInProcess(
  args: readonly string[],
  context: Partial<CommandContext> = {},
): Promise<Ran> {
  let out = "";
  let err = "";
  const exit = await runCli(args, allCommands, {
    ports,
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    log: (line) => {
      err += line;
      return true;
    },
    env: {},
    cwd: process.cwd(),
    // None: what this machine asks for is not what is tested.
    machinePolicy: "/nonexistent/trust.yaml",
    readStdin: async () => "",
    stdinLines: async function* () {},
    self: [process.execPath, "dist/cli.cjs"],
    terminal: {
      animated: false,
      interactive: false,
      columns: 80,
      width: Number.POSITIVE_INFINITY,
      color: { out: false, err: false },
    },
    signal: new AbortController().signal,
    takeSignals: () => {},
    ...context,
  });
  return { exit, out, err };
}
