/** Reads the facts of many hosts from one text, as ssh, Slurm, Ansible and kubectl gather them. */

import type { NamedHost } from "../facts/named-host.ts";
import { ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { isRecord } from "../io/json.ts";
import { splitJson } from "../io/json-values.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import { plainText } from "../facts/fact-grammar.ts";
import type { ClusterReader, ReadNodes } from "./cluster-reader.ts";
import { completeFacts } from "./nvidia/complete-gpus.ts";
import { checkHostFacts } from "../facts/parse-facts.ts";

/** More than a person corrects before the next try. */
const mostProblems = 50;

/** A JSON value of the text. */
interface Entry {
  readonly value: unknown;
  /** The default name of its host: the file, with the line if the file has several values. */
  readonly name: string;
  readonly file: string;
  /** Its first line. */
  readonly line: number;
  /** Knows the cluster's objects of the whole text. */
  readonly readNodes: ReadNodes;
}

/**
 * Reads JSON values one after the other, on a line each or on many: host facts as `imgmatch probe --json` prints them, Kubernetes
 * Nodes and Lists of them, maps of labels, `{"name": …, "facts": …}`, the result of a command in Ansible (`stdout`), and lists
 * of all these. ResourceSlices and NodeFeature objects anywhere in the text complete its Nodes. Hosts keep the order of the text.
 *
 * Throws `INPUT_TOO_LARGE`, and all mistakes of all hosts at once: `FACTS_SYNTAX` and `FACTS_SCHEMA`. A text without a host is a mistake too.
 *
 * @param file the name to show
 * @example
 * const hosts = await readHosts(await readFile("nodes.json", "utf8"), "nodes.json", { readClusterNodes });
 */
export async function readHosts(
  text: string,
  file: string,
  { readClusterNodes }: Pick<ClusterReader, "readClusterNodes">,
): Promise<readonly NamedHost[]> {
  requireSize(text, inputLimits.hosts, { file });
  const name = nameOfFile(file);
  const values = splitJson(text);
  const readNodes = await readClusterNodes(values.flatMap((each) => (each.ok ? [each.value] : [])));
  const problems: Problem[] = [];
  const hosts: NamedHost[] = [];
  for (const each of values) {
    const { line } = each;
    const alone = values.length === 1;
    try {
      if (!each.ok) throw refuse(`no JSON: ${each.reason}`, { file, line }, "FACTS_SYNTAX");
      hosts.push(
        ...(await hostsOf({
          value: each.value,
          name: alone ? name : `${name}:${line}`,
          file,
          line,
          readNodes,
        })),
      );
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      problems.push(...error.problems);
    }
    if (problems.length > mostProblems) break;
  }
  if (hosts.length + problems.length === 0)
    problems.push(...refuse("there is no host in it", { file, line: 1 }).problems);
  throwProblems(problems.slice(0, mostProblems));
  return hosts;
}

/** Unwraps the lists and objects around facts. */
async function hostsOf(entry: Entry): Promise<readonly NamedHost[]> {
  const { value, name, file, line, readNodes } = entry;
  if (Array.isArray(value)) {
    const lists = [];
    for (const [index, item] of value.entries()) {
      if (Array.isArray(item)) throw refuse("a list in a list is no host", entry);
      lists.push(await hostsOf({ ...entry, value: item, name: `${name}[${index}]` }));
    }
    return lists.flat();
  }
  if (isRecord(value)) {
    if (isRecord(value.facts)) return [await readNamed(value.name, value.facts, entry)];
    if (typeof value.stdout === "string") return readStdout(value, value.stdout, entry);
    const nodes = "schemaVersion" in value ? null : await readNodes(value, file);
    if (nodes !== null) return nodes.map((node) => ({ ...node, name: plainText(node.name ?? name) }));
  }
  return [{ name: plainText(name), facts: await completeFacts(checkHostFacts(value, { file, line })) }];
}

async function readNamed(name: unknown, facts: unknown, entry: Entry): Promise<NamedHost> {
  if (typeof name !== "string" || !/^.{1,253}$/su.test(name))
    throw refuse("name: expected text of 1 to 253 characters beside facts", entry);
  const { file, line } = entry;
  return { name: plainText(name), facts: await completeFacts(checkHostFacts(facts, { file, line })) };
}

/** Ansible keeps the result of a command in this form; the standard output is the facts. */
async function readStdout(
  { rc }: Readonly<Record<string, unknown>>,
  stdout: string,
  entry: Entry,
): Promise<readonly NamedHost[]> {
  if (rc !== 0 && rc !== undefined)
    throw refuse(`the command that was to print its facts ended with ${JSON.stringify(rc)}`, entry);
  const values = splitJson(stdout);
  const [only] = values;
  if (values.length !== 1 || only === undefined || !only.ok || isWrapped(only.value))
    throw refuse("stdout: expected the facts of one host", entry);
  return hostsOf({ ...entry, value: only.value });
}

function isWrapped(value: unknown): boolean {
  return !isRecord(value) || "stdout" in value || "facts" in value;
}

/** `facts/gpu-1.json` → `gpu-1` */
function nameOfFile(file: string): string {
  const last = file.split(/[\\/]/).at(-1) ?? file;
  return last.replace(/\.jsonl?$/, "") || file;
}

function refuse(
  message: string,
  { file, line }: Pick<Entry, "file" | "line">,
  code: "FACTS_SYNTAX" | "FACTS_SCHEMA" = "FACTS_SCHEMA",
): ImgmatchError {
  return new ImgmatchError({
    code,
    message,
    fix: "write the facts of each host with imgmatch probe --json, or take it out",
    at: { file, line },
  });
}
