/** `imgmatch resolve`: print the one image that was built for this host; for many hosts, a line for each host. */

import { exitCodes, type ExitCode } from "../problem-codes.ts";
import type { ResolveOptions } from "../node/resolve.ts";
import { printableReport } from "../printable.ts";
import type { HostResolution } from "../resolve/resolver.ts";
import { isOfHost } from "../resolve/verdict.ts";
import type { CommandContext, Define } from "./command.ts";
import { noDeprecated, withHosts, withQuestion } from "./flags/options.ts";
import { print, tell, type JsonFlag } from "./print.ts";
import { signedLine } from "./report/verdict-lines.ts";

const helpText = `
Standard output is one line: docker run "$(imgmatch resolve)" works.
With --hosts: exit code 0 when every host has its image, 4 when only broken
hosts have none, else 3.`;

export const resolve: Define = (command, run) =>
  withQuestion(
    withHosts(
      command
        .description("Print the image that was built for this host")
        .argument("[reference]", "the same as --from")
        .option("--explain", "Say on standard error why this image won, and why each other did not")
        .option(
          "--ask-driver",
          "Have this machine's driver start CUDA or HIP first, in a process of its own: takes up to some seconds",
        )
        .option(...noDeprecated)
        .option("--local", "Count images that were built here and not pushed; print their id in the engine"),
    ),
  )
    .addHelpText("after", helpText)
    .action(run(resolveCommand));

async function resolveCommand(flags: ResolveOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { resolveWith } = await import("../node/resolve.ts");
  const resolveHost = resolveWith(context.ports);
  const [first, ...hosts] = flags.hosts ?? [];
  if (first !== undefined) {
    const answers = await resolveHost({ ...flags, hosts: [first, ...hosts] }, context);
    await printEach(answers, flags, context, ({ host, match, nearest }) => [
      host,
      match?.reference ?? "-",
      nearest === null ? "" : describeMiss(nearest),
    ]);
    return worstOf(answers.map(({ match, rejected }) => ({ fits: match !== null, reasons: rejected })));
  }
  const answer = await resolveHost({ ...flags, self: context.self }, context);
  if (flags.explain && answer.signed !== undefined) tell([signedLine(answer.signed)], context);
  // The whole of standard output: it becomes an argument of another program.
  print(context, flags, answer, () => `${answer.reference}\n`);
  return answer.match !== null ? exitCodes.ok : missOf(answer.rejected);
}

/** The reason of a broken host is about no cell. */
function describeMiss({ cell, code, message }: NonNullable<HostResolution["nearest"]>): string {
  return `${isOfHost(code) ? "" : `${cell}: `}${code}: ${message}`;
}

/** Prints one line for each host, or one JSON object. */
export async function printEach<Answer extends object>(
  answers: readonly Answer[],
  { json = false }: JsonFlag,
  context: CommandContext,
  rowOf: (answer: Answer) => readonly string[],
): Promise<void> {
  if (json) {
    for (const answer of answers) context.out(`${JSON.stringify({ schemaVersion: 1, ...answer })}\n`);
    return;
  }
  const { formatTable } = await import("../io/table.ts");
  context.out(printableReport(formatTable(answers.map(rowOf))));
}

type Reasons = readonly { readonly code: string }[];

/** 0 if every host has its image, 4 if only broken hosts lack one, else 3. */
export function worstOf(
  all: readonly { readonly fits: boolean | null; readonly reasons: Reasons }[],
): ExitCode {
  const misses = all.flatMap(({ fits, reasons }) => (fits ? [] : [missOf(reasons)]));
  if (misses.length === 0) return exitCodes.ok;
  return misses.includes(exitCodes.noMatch) ? exitCodes.noMatch : exitCodes.host;
}

/** A broken host is not a small host, so it has an exit code of its own. */
export function missOf(reasons: Reasons): ExitCode {
  return reasons.some(({ code }) => isOfHost(code)) ? exitCodes.host : exitCodes.noMatch;
}
