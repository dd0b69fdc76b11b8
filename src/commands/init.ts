/** `imgmatch init`: a small matrix and template to start from. Overwrites nothing. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { type InitOptions, initFleet } from "../fleet/init-fleet.ts";
import type { CommandContext } from "./context.ts";
import { print } from "./print.ts";

export interface InitFlags extends InitOptions {
  readonly json?: boolean;
}

export async function init(flags: InitFlags, context: CommandContext): Promise<ExitCode> {
  const written = await initFleet(context.cwd, flags);
  print(
    context,
    flags,
    { schemaVersion: 1, written },
    () => `wrote ${written.join(", ")}\nnext: imgmatch plan\n`,
  );
  return exitCodes.ok;
}
