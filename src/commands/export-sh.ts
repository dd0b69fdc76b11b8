/** `imgmatch export sh`: the resolver of one fleet as a script of sh and awk. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { exportSh } from "../node/sh/export-sh.ts";
import { version } from "../version.ts";
import type { CommandContext } from "./context.ts";
import { type QuestionFlags, readFleetQuestion } from "./question.ts";

export interface ExportShFlags extends QuestionFlags {
  readonly json?: boolean;
}

export async function exportScript(flags: ExportShFlags, context: CommandContext): Promise<ExitCode> {
  const { lock, options } = await readFleetQuestion(flags, context);
  const { text, lockDigest, images } = await exportSh(lock, { ...options, version });
  context.out(
    flags.json
      ? `${JSON.stringify({ schemaVersion: 1, version, lockDigest, images, script: text }, null, 2)}\n`
      : text,
  );
  return exitCodes.ok;
}
