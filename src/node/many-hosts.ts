/** Questions about many hosts at once. Loaded where they are asked: a node that resolves for itself does not wait for it. */

import { usageError } from "../errors.ts";
import { otherHost } from "../host/probe.ts";
import { type MoreHosts, readHostFiles } from "../host/read-host-files.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import { note, type World } from "../io/world.ts";
import { problemLines, unaskedLines } from "../resolve/answer-lines.ts";
import { type HostResolution, resolveHosts } from "../resolve/resolver.ts";
import { type QuestionOptions, readFleetQuestion } from "./question.ts";

export interface ManyHosts extends QuestionOptions {
  /** Files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

export async function resolveEach(asked: ManyHosts, world: World): Promise<readonly HostResolution[]> {
  refuseSingle(asked);
  const { lock, options } = await readFleetQuestion(asked, world);
  const answers = resolveHosts(lock, await readNamedHosts(asked, world), options);
  for (const answer of answers) {
    note(
      world,
      unaskedLines(answer).map((line) => `${answer.host}: ${line}`),
    );
  }
  return answers;
}

/** Of `hosts`, with a note for each problem that they have, and machine types. */
export async function readNamedHosts(
  {
    hosts = [],
    catalog = [],
    gpu = true,
    driver,
  }: Pick<ManyHosts, "hosts" | "gpu" | "driver"> & Pick<MoreHosts, "catalog">,
  world: World,
): Promise<readonly NamedHost[]> {
  const named = await readHostFiles(hosts, world.readStdin, {
    catalog,
    gpu,
    ...(driver === undefined ? {} : { driver }),
  });
  // The answers say which facts a catalogue lacks; a line for each type would hide them.
  if (catalog.length === 0)
    for (const { name, facts } of named) {
      note(
        world,
        problemLines(facts).map((line) => `${name}: ${line}`),
      );
    }
  return named;
}

/** Throws `USAGE` for what is about one host. */
export function refuseSingle({ gpus, explain, ...choice }: QuestionOptions): void {
  const single = otherHost(choice);
  if (single !== null) throw usageError(`${single} names one host and --hosts many`, "leave one of them out");
  if (gpus !== undefined)
    throw usageError(
      "--gpus narrows the GPUs of this machine, not the facts of --hosts",
      "run imgmatch probe --json --gpus … on that machine and pass its output",
    );
  if (explain)
    throw usageError(
      "--explain is about one host",
      "ask for it with --host, or read rejected of --hosts --json",
    );
}
