/** `imgmatch why-not CELL|TAG`: all that stands between this host and one image of the lock. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { whyNotLines } from "./report/why-not.ts";
import type { Misfit } from "../resolve/verdict.ts";
import { whyNot as explain } from "../resolve/why-not.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionFlags, readQuestion } from "./flags/question.ts";
import { print } from "./print.ts";

export interface WhyNotFlags extends QuestionFlags {
  /** Cell, tag or reference. */
  readonly image: string;
  /** Many hosts in place of one: files, folders, or `-`. */
  readonly hosts?: readonly string[];
}

export async function whyNot(flags: WhyNotFlags, context: CommandContext): Promise<ExitCode> {
  const { hosts = [] } = flags;
  if (hosts.length > 0) return (await import("./resolve-hosts.ts")).whyNotMany({ ...flags, hosts }, context);
  const { lock, host, options, signed } = await readQuestion(flags, context);
  const answer = explain(lock, flags.image, host, options);
  print(context, flags, signed === null ? answer : { ...answer, signed }, (style) =>
    whyNotLines(answer, options, style),
  );
  return exitCodeOf(answer);
}

/** A broken host says nothing about the image. */
export function exitCodeOf({
  fits,
  reasons,
}: {
  readonly fits: boolean | null;
  readonly reasons: readonly Pick<Misfit, "code">[];
}): ExitCode {
  if (fits === true) return exitCodes.ok;
  return reasons.some(({ code }) => code === "HOST_BROKEN") ? exitCodes.host : exitCodes.noMatch;
}
