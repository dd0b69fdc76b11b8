/** `imgmatch export nfd-compat`: Node Feature Discovery's image-compatibility specification of each image of the lock. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { yamlText } from "../../node/launch/format-launch.ts";
import { nfdCompatSpecs } from "../../node/launch/nfd-compat.ts";
import { readLock } from "../../lock/lock-file.ts";
import { selectImages } from "../../fleet/cells/select.ts";
import type { CommandContext } from "../command-context.ts";
import { lockFileOf } from "../../fleet/fleet-choice.ts";
import type { ExportFlags } from "../../fleet/plan-choice.ts";
import { print, tell } from "../print.ts";

export async function exportNfdCompat(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const lock = selectImages(await readLock(lockFileOf(flags)), flags.only ?? []);
  const { images, left } = nfdCompatSpecs(lock);
  tell(
    left.map((cell) => `left out: ${cell} is not built, or no node can run it`),
    context,
  );
  const texts = await Promise.all(
    images.map(async ({ reference, spec }) => `# ${reference}\n${await yamlText(spec)}`),
  );
  print(context, flags, { schemaVersion: 1, images }, () => texts.join("---\n"));
  return exitCodes.ok;
}
