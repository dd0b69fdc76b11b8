/** Reads the facts of one host from the output of `imgmatch probe --json`, or from a Kubernetes node. */

import { isRecord, parseJson } from "../io/json.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { ClusterReader } from "./cluster-reader.ts";
import { completeFacts } from "./nvidia/complete-gpus.ts";
import { parseHostFacts } from "../facts/parse-facts.ts";

/**
 * Reads host facts, a Kubernetes Node, a List with one Node, or a map of its labels. Throws `INPUT_TOO_LARGE`, `FACTS_SYNTAX` and `FACTS_SCHEMA`.
 *
 * @param file the name to show
 * @example
 * await readHost(await readFile("node.json", "utf8"), "node.json", { readClusterNode });
 */
export async function readHost(
  text: string,
  file: string,
  { readClusterNode }: Pick<ClusterReader, "readClusterNode">,
): Promise<HostFacts> {
  requireSize(text, inputLimits.facts, { file });
  // `parseHostFacts` reports text that is no JSON, with its place.
  const value = parseJson(text);
  // Host facts are the common case: they need no reader of Kubernetes objects.
  if (isRecord(value) && !("schemaVersion" in value)) {
    const facts = await readClusterNode(value, file);
    if (facts !== null) return facts;
  }
  return completeFacts(parseHostFacts(text, file));
}
