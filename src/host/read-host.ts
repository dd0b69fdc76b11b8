/** Reads the facts of one host from the output of `imgmatch probe --json`, or from a Kubernetes node. */

import { isRecord, parseJson } from "../io/json.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import type { HostFacts } from "../facts/facts.ts";
import { completeFacts } from "./nvidia/complete-gpus.ts";
import { parseHostFacts } from "../facts/parse-facts.ts";

/**
 * Reads host facts, a Kubernetes Node, a List with one Node, or a map of its labels. Throws `INPUT_TOO_LARGE`, `FACTS_SYNTAX` and `FACTS_SCHEMA`.
 *
 * @param file the name to show
 * @example
 * await readHost(await readFile("node.json", "utf8"), "node.json");
 */
export async function readHost(text: string, file: string): Promise<HostFacts> {
  requireSize(text, inputLimits.facts, { file });
  // `parseHostFacts` reports text that is no JSON, with its place.
  const value = parseJson(text);
  // Host facts are the common case: they need no reader of Kubernetes objects.
  if (isRecord(value) && !("schemaVersion" in value)) {
    const { readKubernetesNode } = await import("./kubernetes/cluster-objects.ts");
    const node = readKubernetesNode(value, file);
    if (node !== null) return (await import("./kubernetes/node-facts.ts")).factsOfNode(node);
  }
  return completeFacts(parseHostFacts(text, file));
}
