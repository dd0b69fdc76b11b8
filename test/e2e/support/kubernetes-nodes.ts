/** Nodes and workloads on a control plane without kubelets, and where its pods are. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { formatFactsLine, formatHostFacts } from "../../../src/facts/format-facts.ts";
import { factsAnnotation } from "../../../src/host/kubernetes/cluster-objects.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { nodeLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { labelNames } from "../../../src/node/launch/labels/vocabulary.ts";
import type { KubernetesObject } from "../../node/launch/support/kubernetes-objects.ts";
import { imgmatchPrints } from "../../node/launch/support/program.ts";
import { makeFolder } from "../../support/folders.ts";
import type { Answer, RunningKubernetes } from "./kubernetes.ts";

export type Labels = Readonly<Record<string, string>>;

/** The labels of a node with this host: `imgmatch labels --lock`, as `kubectl label` takes them. */
export async function labelsOf(host: HostFacts, lock: Lock): Promise<Labels> {
  const folder = makeFolder({ "host.json": formatHostFacts(host), "lock.json": formatLock(lock) });
  const argv = [
    "labels",
    "--format",
    "kubernetes",
    "--host",
    join(folder, "host.json"),
    "--lock",
    join(folder, "lock.json"),
  ];
  const lines = (await imgmatchPrints(argv)).trimEnd().split("\n");
  return Object.fromEntries(lines.map((line) => line.split("=") as [string, string]));
}

/**
 * A node as its kubelet would register it. With usable GPUs the device plugin offers them: so many that fleet after fleet
 * finds some.
 */
export function nodeOf(name: string, labels: Labels, spec: object = {}): KubernetesObject {
  const gpus = labels["imgmatch.dev/gpu.usable"] === "true" ? { "nvidia.com/gpu": "10000" } : {};
  return nodeWith(name, labels, spec, gpus);
}

function nodeWith(name: string, labels: Labels, spec: object, gpus: Labels): KubernetesObject {
  const resources = { cpu: "10000", memory: "10000Gi", pods: "10000", ...gpus };
  const node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
    spec,
    status: { capacity: resources, allocatable: resources },
  };
  return node;
}

/** A node with the annotation of its facts and their labels, as its mirror writes them. It has no label of any fleet. */
export function factsNodeOf(name: string, host: HostFacts, spec: object = {}): KubernetesObject {
  const labels = Object.fromEntries(
    Object.entries(nodeLabels(host)).map(([key, value]) => [labelNames.kubernetes(key), value]),
  );
  const nvidia = labels["imgmatch.dev/gpu.usable"] === "true" ? { "nvidia.com/gpu": "10000" } : {};
  const amd = (host.amd?.gpus ?? []).length > 0 ? { "amd.com/gpu": "10000" } : {};
  const node = nodeWith(name, labels, spec, { ...nvidia, ...amd });
  return {
    ...node,
    metadata: { ...node.metadata, annotations: { [factsAnnotation]: formatFactsLine(host) } },
  };
}

/**
 * Gives the nodes their labels from outside: `kubectl get nodes -o json | imgmatch labels --hosts -`. Answers with the number of nodes that
 * changed.
 */
export async function labelFromOutside(
  cluster: RunningKubernetes,
  lock: Lock,
  ...args: readonly string[]
): Promise<number> {
  const paths = ["/api/v1/nodes", "/apis/resource.k8s.io/v1/resourceslices"];
  const lists = await Promise.all(paths.map((path) => cluster.call("GET", path)));
  const folder = makeFolder({
    "cluster.json": lists.map(({ body }) => JSON.stringify(body)).join("\n"),
    "lock.json": formatLock(lock),
  });
  const files = ["--hosts", join(folder, "cluster.json"), "--lock", join(folder, "lock.json")];
  const text = await imgmatchPrints(["labels", "--format", "patch", ...files, ...args]);
  const patches = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
  await Promise.all(
    patches.map(async ({ host, patch }) => {
      const type = "application/merge-patch+json";
      const { status, body } = await cluster.call("PATCH", `/api/v1/nodes/${host}`, patch, type);
      if (status !== 200) throw new Error(`${host}: ${body.message}`);
    }),
  );
  return patches.length;
}

/** As a DNS name. */
export function nodeName(machine: string): string {
  return machine.replaceAll("_", "-");
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const collections: Readonly<Record<string, string>> = {
  Node: "/api/v1/nodes",
  Namespace: "/api/v1/namespaces",
  Pod: "/api/v1/namespaces/{}/pods",
  Job: "/apis/batch/v1/namespaces/{}/jobs",
  Deployment: "/apis/apps/v1/namespaces/{}/deployments",
  DaemonSet: "/apis/apps/v1/namespaces/{}/daemonsets",
  Service: "/api/v1/namespaces/{}/services",
  ServiceAccount: "/api/v1/namespaces/{}/serviceaccounts",
  ClusterRole: `${rbac}/clusterroles`,
  ClusterRoleBinding: `${rbac}/clusterrolebindings`,
  Role: `${rbac}/namespaces/{}/roles`,
  ValidatingAdmissionPolicy: `${admission}/validatingadmissionpolicies`,
  ValidatingAdmissionPolicyBinding: `${admission}/validatingadmissionpolicybindings`,
  RoleBinding: `${rbac}/namespaces/{}/rolebindings`,
  ResourceClaimTemplate: "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
  ResourceSlice: "/apis/resource.k8s.io/v1/resourceslices",
  DeviceClass: "/apis/resource.k8s.io/v1/deviceclasses",
};

/** The address at which objects of its kind are created. */
export function collectionOf({ kind, metadata }: Pick<KubernetesObject, "kind" | "metadata">): string {
  return (collections[kind] ?? kind).replace("{}", metadata.namespace ?? "default");
}

/** Throws what the API server says when it does not take the object. */
export async function create(cluster: RunningKubernetes, object: KubernetesObject): Promise<Answer> {
  const answer = await cluster.call("POST", `${collectionOf(object)}?fieldValidation=Strict`, object);
  if (answer.status !== 201) throw new Error(`${object.metadata.name}: ${answer.body.message}`);
  return answer;
}

/** Pods that are not on their way out. */
async function podsOf(cluster: RunningKubernetes, namespace: string) {
  const { body } = await cluster.call("GET", `/api/v1/namespaces/${namespace}/pods`);
  // biome-ignore lint/suspicious/noExplicitAny: of the API
  return (body.items as any[]).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** By node, the tags of the images whose pods are bound to it. */
export type Placements = Readonly<Record<string, readonly string[]>>;

export async function placements(cluster: RunningKubernetes, namespace: string): Promise<Placements> {
  const { body } = await cluster.call("GET", `/apis/apps/v1/namespaces/${namespace}/daemonsets`);
  const tags = new Map<string, string>(
    // biome-ignore lint/suspicious/noExplicitAny: of the API
    body.items.map(({ metadata }: any) => [metadata.uid, metadata.annotations["imgmatch.dev/tag"]]),
  );
  const placed: Record<string, string[]> = {};
  for (const { metadata, spec } of await podsOf(cluster, namespace)) {
    const where = spec.nodeName ?? "nowhere";
    placed[where] = [...(placed[where] ?? []), tags.get(metadata.ownerReferences[0].uid) ?? "unknown"].sort();
  }
  return placed;
}

/**
 * Until so many pods are placed, then every DaemonSet must have what it wants, so that no pod is
 * still to come.
 */
export async function daemonSetsSettle(
  cluster: RunningKubernetes,
  namespace: string,
  expected: number,
): Promise<void> {
  // If too few come, the comparison of the placements says which ones are missing.
  await decidedPods(cluster, namespace, expected).catch(() => []);
  await until(`DaemonSets of ${namespace}`, async () => {
    const { body } = await cluster.call("GET", `/apis/apps/v1/namespaces/${namespace}/daemonsets`);
    return body.items.every(
      // biome-ignore lint/suspicious/noExplicitAny: of the API
      ({ metadata, status }: any) =>
        status.observedGeneration === metadata.generation &&
        status.currentNumberScheduled === status.desiredNumberScheduled,
    );
  });
}

/** Nobody has to look after them any more; their pods stay. */
export async function removeDaemonSets(cluster: RunningKubernetes, namespace: string): Promise<void> {
  await cluster.call("DELETE", `/apis/apps/v1/namespaces/${namespace}/daemonsets`);
}

/** All pods, once there are so many and the scheduler has looked at each. */
export async function decidedPods(cluster: RunningKubernetes, namespace: string, expected: number) {
  let pods = await podsOf(cluster, namespace);
  await until(`${expected} pods of ${namespace}`, async () => {
    pods = await podsOf(cluster, namespace);
    return pods.length >= expected && pods.every(isDecided);
  });
  return pods;
}

/** Bound, or found to fit nowhere. */
// biome-ignore lint/suspicious/noExplicitAny: of the API
function isDecided({ spec, status }: any): boolean {
  if (spec.nodeName !== undefined) return true;
  return (status.conditions ?? []).some(
    // biome-ignore lint/suspicious/noExplicitAny: of the API
    ({ type, reason }: any) => type === "PodScheduled" && reason === "Unschedulable",
  );
}

export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(500)) if (await holds()) return;
  throw new Error(`not in 60 s: ${what}`);
}
