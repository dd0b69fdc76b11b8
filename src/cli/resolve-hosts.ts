/** `imgmatch resolve --hosts` and `why-not --hosts`: one line, or one JSON object, for each of many hosts. */

import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import { readHostFiles } from "../host/read-host-files.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import { printableReport } from "../printable.ts";
import { problemLines, unaskedLines } from "./report/answer.ts";
import { formatTable } from "../io/table.ts";
import { type HostResolution, resolveHosts } from "../resolve/resolve-hosts.ts";
import { whyNot } from "../resolve/why-not.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionFlags, readFleetQuestion } from "./flags/question.ts";
import { tell } from "./print.ts";

export interface HostsFlags extends QuestionFlags {
  /** Files, folders, or `-`. */
  readonly hosts: readonly string[];
}

export async function resolveMany(flags: HostsFlags, context: CommandContext): Promise<ExitCode> {
  refuseSingle(flags);
  const { lock, options } = await readFleetQuestion(flags, context);
  const hosts = await hostsOf(flags, context);
  const answers = resolveHosts(lock, hosts, options);
  tell(
    answers.flatMap((answer) => unaskedLines(answer).map((line) => `${answer.host}: ${line}`)),
    context,
  );
  tellAll(answers, flags, context, ({ host, match, nearest }) => [
    host,
    match?.reference ?? "-",
    nearest === null ? "" : describeMiss(nearest),
  ]);
  return worstOf(
    answers.map(({ match, rejected }) => ({ fits: match !== null, codes: rejected.map(({ code }) => code) })),
  );
}

/** A broken host is no matter of a cell. */
function describeMiss({ cell, code, message }: NonNullable<HostResolution["nearest"]>): string {
  return `${code === "HOST_BROKEN" ? "" : `${cell}: `}${code}: ${message}`;
}

export async function whyNotMany(
  flags: HostsFlags & { readonly image: string },
  context: CommandContext,
): Promise<ExitCode> {
  refuseSingle(flags);
  const { lock, options } = await readFleetQuestion(flags, context);
  const hosts = await hostsOf(flags, context);
  const answers = hosts.map(({ name, facts }) => ({
    host: name,
    ...whyNot(lock, flags.image, facts, options),
  }));
  tellAll(answers, flags, context, ({ host, fits, reasons }) => [
    host,
    fits ? "fits" : "does not fit",
    reasons.map(({ code, message }) => `${code}: ${message}`).join("; "),
  ]);
  return worstOf(answers.map(({ fits, reasons }) => ({ fits, codes: reasons.map(({ code }) => code) })));
}

function refuseSingle({ host, gpus, explain }: HostsFlags): void {
  if (host !== undefined) throw usageError("--host names one host and --hosts many", "leave one of them out");
  if (gpus !== undefined)
    throw usageError(
      "--gpus narrows what this machine shows; it cannot narrow facts from --hosts",
      "run imgmatch probe --gpus … on that machine and pass what it prints",
    );
  if (explain)
    throw usageError(
      "--explain is about one host",
      "ask for it with --host, or read rejected of --hosts --json",
    );
}

async function hostsOf(flags: HostsFlags, context: CommandContext): Promise<readonly NamedHost[]> {
  const hosts = await readHostFiles(flags.hosts, context.readStdin);
  tell(
    hosts.flatMap(({ name, facts }) => problemLines(facts).map((line) => `${name}: ${line}`)),
    context,
  );
  return hosts;
}

function tellAll<Answer extends object>(
  answers: readonly Answer[],
  { json = false }: { readonly json?: boolean },
  context: CommandContext,
  rowOf: (answer: Answer) => readonly string[],
): void {
  if (json) {
    for (const answer of answers) context.out(`${JSON.stringify({ schemaVersion: 1, ...answer })}\n`);
    return;
  }
  context.out(printableReport(formatTable(answers.map(rowOf))));
}

/** 0 where each has its image; else 3, and 4 where broken hosts are all that lack one. */
function worstOf(all: readonly { readonly fits: boolean; readonly codes: readonly string[] }[]): ExitCode {
  const unserved = all.filter(({ fits }) => !fits);
  if (unserved.length === 0) return exitCodes.ok;
  return unserved.every(({ codes }) => codes.includes("HOST_BROKEN")) ? exitCodes.host : exitCodes.noMatch;
}
