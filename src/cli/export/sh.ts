/** `imgmatch export sh`: the resolver of one fleet as a script of sh and awk. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { exportSh } from "../../node/sh/export-sh.ts";
import { version } from "../../version.ts";
import type { CommandContext } from "../command-context.ts";
import { print } from "../print.ts";
import { type QuestionOptions, readFleetQuestion } from "../../node/question.ts";

export async function exportScript(flags: QuestionOptions, context: CommandContext): Promise<ExitCode> {
  const { lock, options } = await readFleetQuestion(flags, context);
  const { text, lockDigest, images } = await exportSh(lock, { ...options, version });
  print(context, flags, { schemaVersion: 1, version, lockDigest, images, script: text }, () => text);
  return exitCodes.ok;
}
