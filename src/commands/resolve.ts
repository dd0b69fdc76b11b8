/** `imgmatch resolve`: one line, the image that was built for this host. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { ImmutableReference } from "../oci/immutable-reference.ts";
import { printableReport } from "../input/printable.ts";
import { nearestFirst } from "../resolve/nearest.ts";
import { resolveImage } from "../resolve/resolve.ts";
import type { Resolution } from "../resolve/verdict.ts";
import type { CommandContext } from "./context.ts";
import { noMatch, type QuestionFlags, readQuestion, tellUnasked } from "./question.ts";

export interface ResolveFlags extends QuestionFlags {
  readonly json?: boolean;
}

export async function resolve(flags: ResolveFlags, context: CommandContext): Promise<ExitCode> {
  const { lock, host, options } = await readQuestion(flags, context);
  const resolution = resolveImage(lock, host, options);
  tellUnasked(resolution, context);
  if (flags.explain) {
    const { explainResolution } = await import("../resolve/explain.ts");
    context.err(printableReport(explainResolution(lock, host, options)));
  }
  if (flags.json) {
    context.out(`${JSON.stringify(resolution, null, 2)}\n`);
    return exitCodeOf(resolution);
  }
  if (resolution.match !== null) {
    context.out(answerLine(resolution.match.reference));
    return exitCodes.ok;
  }
  throw noMatch(nearestFirst(lock, resolution.rejected, host, options), flags);
}

/** The whole of standard output: it becomes an argument of another program, and its type says that it is nothing else. */
function answerLine(reference: ImmutableReference): string {
  return `${reference}\n`;
}

/** A host that is broken is not a host that is too small: its exit code says so. */
function exitCodeOf({ match, rejected }: Resolution): ExitCode {
  if (match !== null) return exitCodes.ok;
  return rejected.some(({ code }) => code === "HOST_BROKEN") ? exitCodes.host : exitCodes.noMatch;
}
