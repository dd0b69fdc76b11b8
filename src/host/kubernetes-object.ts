/** The output of `kubectl get node NAME -o json`, as far as the facts need it. */

import { ImgmatchError } from "../errors.ts";
import { fieldsOf, isRecord, text, textsOf } from "../io/json.ts";

export type Labels = Readonly<Record<string, string>>;

export interface KubernetesNode {
  readonly name: string | null;
  readonly labels: Labels;
  /** `status.nodeInfo`, which labels alone do not have. */
  readonly info: Readonly<Record<"architecture" | "system" | "kernel", string | null>>;
  /** GPUs of NVIDIA that a device plugin offers; null when the object does not tell. */
  readonly gpuCapacity: number | null;
  /** GPUs and partitions of AMD, whatever their resource is called. */
  readonly amdCapacity: number | null;
}

const noInfo = { architecture: null, system: null, kernel: null };

/**
 * Reads a Node, a List with one Node, or a bare map of labels; null for any other value, such as host facts.
 * Throws `FACTS_SCHEMA` for a list of none or many nodes, and for a Node without labels.
 */
export function readKubernetesNode(value: unknown, file: string): KubernetesNode | null {
  if (isList(value)) return readNode(onlyItem(value.items, file), file);
  return readKubernetesNodes(value, file)?.[0] ?? null;
}

/** The same for any number of them. Throws `FACTS_SCHEMA` for a list of anything but nodes, and of none. */
export function readKubernetesNodes(value: unknown, file: string): readonly KubernetesNode[] | null {
  if (isList(value)) {
    const items = Array.isArray(value.items) ? value.items : [];
    const other = items.findIndex((item) => !isRecord(item) || item.kind !== "Node");
    if (other >= 0) throw refuse(`items[${other}] is no Node`, file);
    if (items.length === 0) throw refuse("a list of no nodes", file);
    return items.filter(isRecord).map((item) => readNode(item, file));
  }
  if (!isRecord(value)) return null;
  if (value.kind === "Node") return [readNode(value, file)];
  return isLabels(value)
    ? [{ name: null, labels: value, info: noInfo, gpuCapacity: null, amdCapacity: null }]
    : null;
}

function isList(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && (value.kind === "List" || value.kind === "NodeList");
}

function readNode(node: Readonly<Record<string, unknown>>, file: string): KubernetesNode {
  const { name, labels } = fieldsOf(node.metadata);
  const { nodeInfo, capacity } = fieldsOf(node.status);
  const { architecture, operatingSystem, kernelVersion } = fieldsOf(nodeInfo);
  if (!isRecord(labels)) throw refuse("the Node has no metadata.labels", file);
  const offered = textsOf(fieldsOf(capacity));
  const ofAmd = Object.keys(offered).filter((resource) => resource.startsWith("amd.com/"));
  return {
    name: text(name),
    labels: textsOf(labels),
    info: {
      architecture: text(architecture),
      system: text(operatingSystem),
      kernel: text(kernelVersion),
    },
    gpuCapacity: quantity(offered["nvidia.com/gpu"]),
    amdCapacity: ofAmd.reduce<number | null>(
      (sum, resource) => (sum ?? 0) + (quantity(offered[resource]) ?? 0),
      null,
    ),
  };
}

function quantity(text = ""): number | null {
  return /^\d{1,4}$/.test(text) ? Number(text) : null;
}

function onlyItem(items: unknown, file: string): Readonly<Record<string, unknown>> {
  const nodes = (Array.isArray(items) ? items : []).filter(isRecord);
  const [only] = nodes;
  if (only !== undefined && nodes.length === 1 && only.kind === "Node") return only;
  throw refuse(`a list of ${nodes.length} objects, and an image is for one node`, file);
}

/** Keys of labels have a prefix that is a domain; host facts have none such. */
function isLabels(value: Readonly<Record<string, unknown>>): value is Labels {
  const entries = Object.entries(value);
  return (
    entries.every(([, text]) => typeof text === "string") &&
    entries.some(([key]) => /^([a-z0-9-]+\.)*(kubernetes\.io|nvidia\.com|amd\.com)\//.test(key))
  );
}

function refuse(message: string, file: string): ImgmatchError {
  return new ImgmatchError({
    code: "FACTS_SCHEMA",
    message,
    fix: "pass one node: kubectl get node NAME -o json",
    at: { file },
  });
}
