/** `imgmatch verify`: whether the registry holds what the lock says. */

import { type ExitCode, exitCodes, problemCodes } from "../errors.ts";
import type { VerifyAnswer, VerifyOptions } from "../fleet/verify.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withJson, withRegistries, withTrust } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";
import { verifyLines } from "./verify-lines.ts";

type VerifyFlags = VerifyOptions & JsonFlag;

const helpText = `
Exit code 1 when a tag differs from the lock, 6 when the version's index does.`;

export const verify: Define = (command, run) =>
  withTrust(
    withRegistries(
      withJson(command)
        .description("Check that the registry holds the lock's digest under every tag of the lock")
        .option("--lock <file>", "Read this lock", "images/imgmatch.lock.json")
        .option("--heal", "Give each tag the lock's digest again, where the registry still has that image")
        .option("--provenance", "Check also that each image's attestations agree with the lock")
        .option(
          "--sweep",
          "Remove the tags imgmatch-… that killed publishers left; only while nobody publishes there",
        ),
    ),
  )
    .addHelpText("after", helpText)
    .action(run(verifyCommand));

async function verifyCommand(flags: VerifyFlags, context: CommandContext): Promise<ExitCode> {
  const { verify: answerOf } = await import("../fleet/verify.ts");
  const answer = await answerOf(flags, context);
  print(context, flags, answer, (style) => verifyLines(answer, flags, style));
  return exitCodeOf(answer);
}

/** A wrong or foreign image counts before a missing one. */
function exitCodeOf({ conflicts, drift, channels, provenance }: VerifyAnswer): ExitCode {
  const codes = (provenance?.images ?? []).flatMap(({ problems }) =>
    problems.map(({ code }) => problemCodes[code]),
  );
  if (conflicts.length > 0 || codes.includes(exitCodes.conflict)) return exitCodes.conflict;
  const isDrifted = [...drift, ...channels].some(({ healed }) => !healed);
  return isDrifted || codes.length > 0 ? exitCodes.failed : exitCodes.ok;
}
