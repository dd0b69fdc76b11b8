/** `imgmatch resolve`: one line, the image that was built for this host. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { ImmutableReference } from "../oci/immutable-reference.ts";
import { unaskedLines } from "./report/answer.ts";
import { signedLine } from "./report/signed.ts";
import { nearestFirst } from "../resolve/nearest.ts";
import { noMatch } from "../resolve/no-match.ts";
import { resolveImage } from "../resolve/resolve.ts";
import type { Resolution } from "../resolve/verdict.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionFlags, readQuestion } from "./flags/question.ts";
import { print, tell } from "./print.ts";

export interface ResolveFlags extends QuestionFlags {
  /** Many hosts in place of one: files, folders, or `-`. */
  readonly hosts?: readonly string[];
}

export async function resolve(flags: ResolveFlags, context: CommandContext): Promise<ExitCode> {
  const { hosts = [] } = flags;
  if (hosts.length > 0) return (await import("./resolve-hosts.ts")).resolveMany({ ...flags, hosts }, context);
  const { lock, host, options, signed } = await readQuestion(flags, context);
  const resolution = resolveImage(lock, host, options);
  // What is against the others is worked out when it is read.
  const { match } = resolution;
  tell(unaskedLines(resolution), context);
  if (flags.explain) {
    const { explainResolution } = await import("../resolve/explain.ts");
    tell(explainResolution(lock, host, options), context);
    if (signed !== null) tell([signedLine(signed)], context);
  }
  if (match === null && !flags.json)
    throw noMatch(nearestFirst(lock, resolution.rejected, host, options), flags);
  const answer = flags.json && signed !== null ? { ...resolution, signed } : resolution;
  print(context, flags, answer, () => (match === null ? "" : answerLine(match.reference)));
  return exitCodeOf(resolution);
}

/** The whole of standard output: it becomes an argument of another program, and its type says that it is nothing else. */
function answerLine(reference: ImmutableReference): string {
  return `${reference}\n`;
}

/** A host that is broken is not a host that is too small: its exit code says so. */
function exitCodeOf(resolution: Resolution): ExitCode {
  if (resolution.match !== null) return exitCodes.ok;
  return resolution.rejected.some(({ code }) => code === "HOST_BROKEN") ? exitCodes.host : exitCodes.noMatch;
}
