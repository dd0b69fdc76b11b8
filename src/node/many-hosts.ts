/** Asks about many hosts at once. A node that resolves for itself does not load this. */

import { usageError } from "../errors.ts";
import type { HostWorld } from "../host/cluster-reader.ts";
import { otherHost } from "../host/probe.ts";
import { type MoreHosts, readHostFiles } from "../host/read-host-files.ts";
import type { HostFacts } from "../facts/facts.ts";
import { gpuVendors } from "../hardware/gpu-vendors.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { note, type World } from "../io/world.ts";
import { problemLines, unaskedLines } from "../resolve/answer-lines.ts";
import { needsOf, noteUnlisted } from "./unlisted.ts";
import { type HostResolution, resolveHosts } from "../resolve/resolver.ts";
import { type AgeChoice, type QuestionOptions, readFleetQuestion, type NodeWorld } from "./question.ts";

export interface ManyHosts extends QuestionOptions {
  /** Files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

export async function resolveEach(
  options: ManyHosts & AgeChoice,
  world: NodeWorld,
): Promise<readonly HostResolution[]> {
  refuseSingle(options);
  const question = await readFleetQuestion(options, world);
  const hosts = await readNamedHosts(options, world);
  const answers = resolveHosts(question.lock, hosts, question.options);
  await noteUnlisted(
    world,
    hosts.map(({ facts }) => facts),
    needsOf(question.lock),
  );
  for (const answer of answers) noteOf(answer.host, unaskedLines(answer), world);
  return answers;
}

function noteOf(host: string, lines: readonly string[], world: World): void {
  note(
    world,
    lines.map((line) => `${host}: ${line}`),
  );
}

/** Reads hosts and machine types. Each problem of a host is a note. */
export async function readNamedHosts(
  {
    hosts = [],
    catalog = [],
    gpu = true,
    driver = [],
  }: Pick<ManyHosts, "hosts" | "gpu" | "driver"> & Pick<MoreHosts, "catalog">,
  world: HostWorld,
): Promise<readonly NamedHost[]> {
  const named = await readHostFiles(hosts, world, { catalog, gpu, driver });
  // All machine types lack the same facts, and the answers tell which.
  if (catalog.length === 0) for (const { name, facts } of named) noteOf(name, problemLines(facts), world);
  return named;
}

/** Throws `USAGE` for an option about one host. */
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

/** The models of a host's GPUs, each once. */
export function gpuNames(facts: HostFacts): readonly string[] {
  const gpus = gpuVendors.flatMap(
    (vendor): readonly { readonly name: string | null }[] => facts[vendor]?.gpus ?? [],
  );
  return [...new Set(gpus.flatMap(({ name }) => name ?? []))];
}
