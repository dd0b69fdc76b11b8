/** Reads the output of `kubectl get nodes,resourceslices -o json`. */

import type { Labels } from "../../facts/named-host.ts";
import { ImgmatchError } from "../../errors.ts";
import { remember, sum } from "../../io/collections.ts";
import { fieldsOf, isRecord, text, textsOf } from "../../io/json.ts";
import { readSlice, type ResourceSlice } from "./resource-slices.ts";
import { isGpu } from "../pci.ts";

export interface KubernetesNode {
  readonly name: string | null;
  readonly labels: Labels;
  /** The value of imgmatch's annotation: the whole facts. */
  readonly annotation: string | null;
  /** From the DRA drivers of its GPUs. */
  readonly slices: readonly ResourceSlice[];
  /** null without a NodeFeature object. */
  readonly features: NodeFeatures | null;
  /** `status.nodeInfo`, which labels alone do not have. */
  readonly info: Readonly<Record<"architecture" | "system" | "kernel", string | null>>;
  /** The digests of each image on the node; null if unknown. */
  readonly images: readonly (readonly string[])[] | null;
  /** NVIDIA GPUs that a device plugin offers; null if unknown. */
  readonly gpuCapacity: number | null;
  /** AMD GPUs and partitions, under any resource name; null if unknown. */
  readonly amdCapacity: number | null;
}

const noInfo = { architecture: null, system: null, kernel: null };

/** Objects that tell more of the nodes, by the names of the nodes. */
export interface Cluster {
  readonly slices: ReadonlyMap<string, readonly ResourceSlice[]>;
  readonly features: ReadonlyMap<string, NodeFeatures>;
}

/** Finds the ResourceSlices and NodeFeatures among values, their Lists, and arrays of both. */
export function readCluster(values: readonly unknown[]): Cluster {
  const slices = new Map<string, ResourceSlice[]>();
  const features = new Map<string, NodeFeatures>();
  for (const object of values.flat().flatMap(objectsOf)) {
    const slice = object.kind === "ResourceSlice" ? readSlice(object) : null;
    if (slice !== null) remember(slices, slice.node, () => []).push(slice);
    const feature = object.kind === "NodeFeature" ? readNodeFeature(object) : null;
    if (feature !== null) features.set(feature.node, joinFeatures(features.get(feature.node), feature));
  }
  return { slices, features };
}

/** Other programs may write a NodeFeature for the same node. */
function joinFeatures(one: NodeFeatures | undefined, other: NodeFeatures): NodeFeatures {
  if (one === undefined) return other;
  return {
    node: one.node,
    labels: { ...one.labels, ...other.labels },
    cpuid: one.cpuid || other.cpuid,
    gpus: one.gpus ?? other.gpus,
  };
}

/**
 * Reads a Node, a List with one Node, or a bare map of labels; null for any other value, such as host facts.
 * Throws `FACTS_SCHEMA` for a list of none or many nodes, and for a Node without labels.
 */
export function readKubernetesNode(value: unknown, file: string): KubernetesNode | null {
  const listed = isList(value) ? objectsOf(value).filter(({ kind }) => !isOfNodes(kind)) : null;
  if (listed !== null && (listed.length !== 1 || listed[0]?.kind !== "Node"))
    throw refuse(`a list of ${listed.length} objects, and an image is for one node`, file);
  return readKubernetesNodes(value, file, readCluster([value]))?.[0] ?? null;
}

/**
 * Reads any number of nodes; an empty list for objects that only tell more of nodes. Throws `FACTS_SCHEMA` for a list of other objects, and
 * for an empty one.
 */
export function readKubernetesNodes(
  value: unknown,
  file: string,
  cluster: Cluster,
): readonly KubernetesNode[] | null {
  if (isList(value)) {
    const items = objectsOf(value);
    const other = items.findIndex(({ kind }) => kind !== "Node" && !isOfNodes(kind));
    if (other >= 0) throw refuse(`items[${other}] is no Node`, file);
    // A cluster without DRA drivers has an empty list of ResourceSlices.
    if (items.length === 0 && !isOfNodes(text(value.kind)?.replace(/List$/, "")))
      throw refuse("a list of no nodes", file);
    return items.filter(({ kind }) => kind === "Node").map((item) => readNode(item, file, cluster));
  }
  if (!isRecord(value)) return null;
  if (isOfNodes(value.kind)) return [];
  if (value.kind === "Node") return [readNode(value, file, cluster)];
  const alone = {
    name: null,
    annotation: null,
    slices: [],
    features: null,
    images: null,
    info: noInfo,
    gpuCapacity: null,
    amdCapacity: null,
  };
  return isLabels(value) ? [{ ...alone, labels: value }] : null;
}

function isOfNodes(kind: unknown): boolean {
  return kind === "ResourceSlice" || kind === "NodeFeature";
}

const lists = ["List", "NodeList", "ResourceSliceList", "NodeFeatureList"];

function isList(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && lists.some((kind) => kind === value.kind);
}

/** The items of a List, with the kind that the API leaves out; any other object itself. */
function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isList(value)) return isRecord(value) ? [value] : [];
  const kind = value.kind === "List" ? undefined : text(value.kind)?.replace(/List$/, "");
  const items = Array.isArray(value.items) ? value.items : [];
  return items.map((item) => ({ kind, ...fieldsOf(item) }));
}

function readNode(
  node: Readonly<Record<string, unknown>>,
  file: string,
  { slices, features }: Cluster,
): KubernetesNode {
  const { name, labels, annotations } = fieldsOf(node.metadata);
  const { nodeInfo, capacity, images } = fieldsOf(node.status);
  const { architecture, operatingSystem, kernelVersion } = fieldsOf(nodeInfo);
  if (!isRecord(labels)) throw refuse("the Node has no metadata.labels", file);
  const offered = textsOf(fieldsOf(capacity));
  const ofAmd = Object.keys(offered).filter((resource) => resource.startsWith("amd.com/"));
  const known = text(name) ?? "";
  return {
    name: text(name),
    labels: textsOf(labels),
    annotation: text(fieldsOf(annotations)[factsAnnotation]),
    slices: slices.get(known) ?? [],
    features: features.get(known) ?? null,
    info: {
      architecture: text(architecture),
      system: text(operatingSystem),
      kernel: text(kernelVersion),
    },
    images: Array.isArray(images) ? images.map((image) => digestsOf(fieldsOf(image).names)) : null,
    gpuCapacity: gpuCount(offered["nvidia.com/gpu"]),
    amdCapacity:
      ofAmd.length === 0
        ? null
        : Math.min(sum(ofAmd.map((resource) => gpuCount(offered[resource]) ?? 0)), mostGpus),
  };
}

/** More than any machine has; a label can hold any number. */
export const mostGpus = 64;

export function isNumber(text: string | undefined): text is string {
  return text !== undefined && /^\d{1,9}$/.test(text);
}

/** A number of GPUs; null for other text. */
export function gpuCount(text: string | undefined): number | null {
  return isNumber(text) ? Math.min(Number(text), mostGpus) : null;
}

/** True if Node Feature Discovery labels a PCI device of this pattern; null if it labels none at all. */
export function labelsDevice(labels: Labels, device: RegExp): boolean | null {
  const features = labelsBelow(labels, "feature.node.kubernetes.io/");
  if (features.some(([name, value]) => value === "true" && device.test(name))) return true;
  return features.some(([name]) => name.startsWith("pci-")) ? false : null;
}

/** The labels whose keys begin so, without that beginning. */
export function labelsBelow(labels: Labels, start: string): readonly (readonly [string, string])[] {
  return Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith(start) ? [[key.slice(start.length), value] as const] : [],
  );
}

/** `["registry.example.com/vision@sha256:…", "registry.example.com/vision:1.4.0"]`: names of one image, by digest and by tag. */
function digestsOf(names: unknown): readonly string[] {
  const texts = Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  return [...new Set(texts.flatMap((name) => /@(sha256:[0-9a-f]{64})$/.exec(name)?.[1] ?? []))];
}

/**
 * The prefix of imgmatch's labels and annotation. Kubernetes wants a DNS name that one owns (Labels and Selectors, "Syntax and character
 * set").
 */
export const ownPrefix = "imgmatch.dev/";

/** imgmatch's labels of a node, without their prefix. */
export function ownLabels(labels: Labels): Labels {
  return Object.fromEntries(labelsBelow(labels, ownPrefix));
}

/** The annotation with the whole facts, as `imgmatch probe --json` prints them. */
export const factsAnnotation = `${ownPrefix}facts`;

/** True for texts under keys with a domain; host facts have no such keys. */
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

export interface NodeFeatures {
  readonly node: string;
  /** Its findings as labels. */
  readonly labels: Readonly<Record<string, string>>;
  /** True if the labels name every CPU feature that it knows. */
  readonly cpuid: boolean;
  /** `vendor:device` of each GPU; null if it did not look. */
  readonly gpus: readonly string[] | null;
}

/** null for an object that names no node. */
export function readNodeFeature(object: Readonly<Record<string, unknown>>): NodeFeatures | null {
  const metadata = fieldsOf(object.metadata);
  const node = text(fieldsOf(metadata.labels)["nfd.node.kubernetes.io/node-name"]);
  if (node === null) return null;
  const { flags, attributes, instances } = fieldsOf(fieldsOf(object.spec).features);
  const elements = (features: unknown, name: string) => fieldsOf(fieldsOf(features)[name]).elements;
  const found = elements(instances, "pci.device");
  const devices = Array.isArray(found) ? found.map((each) => textsOf(fieldsOf(each).attributes)) : null;
  const cpuid = Object.keys(fieldsOf(elements(flags, "cpu.cpuid")));
  const prefix = "feature.node.kubernetes.io";
  return {
    node,
    labels: {
      ...prefixed(`${prefix}/cpu-cpuid.`, Object.fromEntries(cpuid.map((name) => [name, "true"]))),
      ...prefixed(`${prefix}/cpu-model.`, textsOf(elements(attributes, "cpu.model"))),
      ...prefixed(`${prefix}/kernel-version.`, textsOf(elements(attributes, "kernel.version"))),
      ...Object.fromEntries(
        (devices ?? []).map(({ class: kind, vendor }) => [`${prefix}/pci-${kind}_${vendor}.present`, "true"]),
      ),
    },
    cpuid: cpuid.length > 0,
    gpus:
      devices
        ?.filter(({ class: kind = "", vendor = "" }) => isGpu(vendor, `0x${kind}`))
        .map(({ vendor, device }) => `${vendor}:${device}`) ?? null,
  };
}

function prefixed(prefix: string, texts: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [`${prefix}${name}`, value]));
}
