/**
 * Pod, Job, Deployment or DaemonSet. Fields: Kubernetes API reference v1.30, by the official types. An API server v1.36.3 with strict field
 * validation accepts them (test/e2e/kubernetes.test.ts).
 */

import type { DaemonSet, Deployment } from "kubernetes-types/apps/v1.js";
import type { Job } from "kubernetes-types/batch/v1.js";
import type {
  Container,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  PodTemplateSpec,
  ResourceRequirements,
  Service,
} from "kubernetes-types/core/v1.js";
import type { ObjectMeta } from "kubernetes-types/meta/v1.js";
import { byDigest, referenceParts } from "../../../oci/immutable-reference.ts";
import { filled, given } from "../fields.ts";
import { labelNames } from "../labels/vocabulary.ts";
import type { FleetTarget, Json, LaunchRequest, Mount } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { dnsBaseName, dnsName } from "../workload-name.ts";
import { doubleDollar } from "./compose.ts";
import { claimName, claimTemplate, sidecarsOf, withoutSidecar } from "./kubernetes-claim.ts";
import { resourceLimits, tolerationsOf, whyHostsDriver } from "./kubernetes-resources.ts";

const kubernetesKinds = ["pod", "job", "deployment", "daemonset"] as const;
type KubernetesKind = (typeof kubernetesKinds)[number];
type Workload = Pod | Job | Deployment | DaemonSet;

const cannot = unsupportedBy("kubernetes");

export const kubernetes: FleetTarget = {
  name: "kubernetes",
  description: "a Job (batch) or a Deployment (service); --set kind=pod or daemonset for others",
  gpus: "scheduler",
  labels: "kubernetes",
  claims: true,
  formats: ["yaml", "json"],
  settings: {
    image: "plain: with --fleet, one workload of the fleet's plain tag, on the nodes with an image",
    kind: `one of ${kubernetesKinds.join(", ")}`,
    namespace: "metadata.namespace",
    sidecar: "with --dra or --devices: the image of a further container of the pod, which shares the claim",
    resource:
      "how the device plugin calls a GPU, where not nvidia.com/gpu or amd.com/gpu: amd.com/cpx_nps4, org.qnib/gpu",
  },
  launch: (request) => ({
    form: "documents",
    documents: documentsOf(request),
  }),
  fleetNote: (documents) =>
    documents.some((each) => (each as { kind?: string }).kind === "ResourceClaimTemplate")
      ? "devices by claim, from Kubernetes 1.34, with the vendor's DRA driver"
      : null,
  whyNot: whyHostsDriver,
  fleet: (launches, name) => {
    const claiming = launches.some(({ claim }) => claim !== undefined);
    const partOf = { [partOfLabel]: name };
    const workloads = launches
      .map(withoutSidecar(claiming))
      .flatMap((request) => [
        ...claimsOf(request),
        fleetObject(request, claiming, hasPorts(request) ? partOf : {}),
      ]);
    const [first] = launches.filter(hasPorts);
    return asJson(first === undefined ? workloads : [...workloads, service({ ...first, name }, partOf)]);
  },
};

const nameLabel = "app.kubernetes.io/name";
/** All workloads of a fleet. */
const partOfLabel = "app.kubernetes.io/part-of";

/** A claim comes before the workload that uses it. */
function documentsOf(request: LaunchRequest): readonly Json[] {
  const workload = kubernetesObject(request);
  const byName = { [nameLabel]: objectName(request) };
  return asJson([...claimsOf(request), workload, ...(hasPorts(request) ? [service(request, byName)] : [])]);
}

function claimsOf(request: LaunchRequest): readonly object[] {
  return request.claim === undefined ? [] : [claimTemplate(request.claim, identityOf(request))];
}

function asJson(documents: readonly object[]): readonly Json[] {
  return documents as readonly Json[];
}

function hasPorts({ ports = [] }: LaunchRequest): boolean {
  return ports.length > 0;
}

/** One address within the cluster for all pods with these labels. */
function service(request: LaunchRequest, selector: Readonly<Record<string, string>>): Service {
  const { name, labels, namespace } = identityOf(request);
  const ports = (request.ports ?? []).map(({ host, container: targetPort, protocol }) => ({
    // Several ports need names.
    ...{ name: `${protocol}-${host}`, port: host, targetPort, protocol: protocolNames[protocol] },
  }));
  const metadata = filled<ObjectMeta>({ name, namespace, labels });
  return { apiVersion: "v1", kind: "Service", metadata, spec: { selector: { ...selector }, ports } };
}

const protocolNames = { tcp: "TCP", udp: "UDP" } as const;

/**
 * A service is a DaemonSet, which runs on every node of the image. A batch is a Job, which runs on one node. With claims a service is a
 * Deployment: a DaemonSet looks at nodes only, and nodes do not tell their devices.
 */
function fleetObject(
  request: LaunchRequest,
  claiming: boolean,
  podLabels: Readonly<Record<string, string>>,
): Workload {
  const service = claiming ? "deployment" : "daemonset";
  const kind = request.settings?.kind ?? (request.task === "batch" ? "job" : service);
  if (claiming && kind.toLowerCase() === "daemonset") {
    throw cannot(
      "claim devices in a DaemonSet, whose pods would wait on every node that has none",
      "use --set kind=deployment, or leave --dra out",
    );
  }
  return kubernetesObject({ ...request, settings: { ...request.settings, kind } }, podLabels);
}

/** Kubernetes reads the terms as alternatives. */
function nodeSelectorTerms(labels: NonNullable<LaunchRequest["anyNode"]>): NodeSelectorTerm[] {
  return labels.map(({ key, value }) => ({
    matchExpressions: [
      {
        key: labelNames.kubernetes(key),
        ...(value === null ? { operator: "Exists" } : { operator: "In", values: [value] }),
      },
    ],
  }));
}

function kubernetesObject(
  request: LaunchRequest,
  podLabels: Readonly<Record<string, string>> = {},
): Workload {
  const { name, labels, namespace } = identityOf(request);
  const { tag } = referenceParts(request.reference);
  const annotations =
    tag === null || request.plainTag !== undefined ? undefined : { "imgmatch.dev/tag": tag };
  const metadata = filled<ObjectMeta>({ name, namespace, labels, annotations });
  const kind = kindOf(request);
  const ends = (kind === "pod" || kind === "job") && request.task !== "service";
  const restartPolicy = ends ? "Never" : "Always";
  const spec = podSpec(request, restartPolicy);
  const template: PodTemplateSpec = { metadata: { labels: { ...labels, ...podLabels } }, spec };
  const selector = { matchLabels: labels };
  switch (kind) {
    case "pod":
      return {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...metadata, labels: { ...labels, ...podLabels } },
        spec,
      };
    case "job":
      return { apiVersion: "batch/v1", kind: "Job", metadata, spec: { backoffLimit: 0, template } };
    case "deployment":
      return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata,
        spec: { replicas: 1, selector, template },
      };
    case "daemonset":
      return { apiVersion: "apps/v1", kind: "DaemonSet", metadata, spec: { selector, template } };
  }
}

function identityOf(request: LaunchRequest) {
  const name = objectName(request);
  const labels = { [nameLabel]: name, "app.kubernetes.io/managed-by": "imgmatch" };
  return { name, labels, namespace: namespaceOf(request) };
}

function kindOf({ settings, task }: LaunchRequest): KubernetesKind {
  const wanted = settings?.kind?.toLowerCase();
  if (wanted === undefined) return task === "service" ? "deployment" : "job";
  const kind = kubernetesKinds.find((each) => each === wanted);
  if (kind === undefined) throw cannot(`write a ${wanted}`, `use one of ${kubernetesKinds.join(", ")}`);
  const service = kind === "deployment" || kind === "daemonset";
  // A Deployment restarts whatever ends: a batch would run for ever.
  if (service && task === "batch") throw cannot(`run a batch as a ${kind}`, "use --set kind=job");
  if (kind === "job" && task === "service")
    throw cannot("keep a service running as a job", "use --set kind=deployment");
  return kind;
}

function podSpec(request: LaunchRequest, restartPolicy: "Never" | "Always"): PodSpec {
  const { mounts = [], node, anyNode } = request;
  return filled<PodSpec>({
    restartPolicy,
    nodeSelector:
      node == null || anyNode !== undefined ? undefined : { [labelNames.kubernetes(node.key)]: node.value },
    affinity: given(anyNode, (labels) => ({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nodeSelectorTerms(labels) },
      },
    })),
    tolerations: tolerationsOf(request),
    // Kubernetes 1.31 removed the field `source`.
    resourceClaims: given(request.claim, () => [
      { name: claimName, resourceClaimTemplateName: objectName(request) },
    ]),
    initContainers: sidecarsOf(request),
    containers: [container(request)],
    volumes: mounts.map(({ source }, index) => ({ name: `mount-${index}`, hostPath: { path: source } })),
  });
}

function container(request: LaunchRequest): Container {
  const { args, program, env = {}, mounts = [], ports = [], plainTag, settings } = request;
  checkMounts(mounts);
  if (settings?.image !== undefined && plainTag === undefined)
    throw cannot(
      `name the image of one host by ${settings.image}`,
      "use --fleet with --set image=plain, or leave it out",
    );
  return filled<Container>({
    name: "main",
    image: plainTag ?? byDigest(request.reference),
    // `$(NAME)` is a reference to a variable, `$$` a dollar sign (API reference, Container.args).
    command: given(program, (word) => [doubleDollar(word)]),
    args: args.map(doubleDollar),
    ports: ports.map(({ container: containerPort, protocol }) => ({
      ...{ containerPort, protocol: protocolNames[protocol] },
    })),
    env: Object.entries(env).map(([name, value]) => ({ name, value: doubleDollar(value) })),
    resources: filled<ResourceRequirements>({
      limits: resourceLimits(request),
      claims: given(request.claim, () => [{ name: claimName }]),
    }),
    volumeMounts: mounts.map(({ target, readOnly }, index) => {
      const mount = { name: `mount-${index}`, mountPath: target };
      return readOnly ? { ...mount, readOnly } : mount;
    }),
  });
}

function objectName({ name, reference }: LaunchRequest): string {
  if (name === undefined) return dnsBaseName(reference);
  if (name === dnsName(name)) return name;
  throw cannot(
    `name an object ${JSON.stringify(name)}: names are lower case letters, digits and hyphens, at most 63`,
    `use --name ${dnsName(name)}`,
  );
}

function namespaceOf({ settings }: LaunchRequest): string | undefined {
  const namespace = settings?.namespace;
  if (namespace === undefined || namespace === dnsName(namespace)) return namespace;
  throw cannot(
    `use a namespace ${JSON.stringify(namespace)}: names are lower case letters, digits and hyphens, at most 63`,
    "name one that is there: kubectl get namespaces",
  );
}

/** Throws for mounts that the API refuses (validation of VolumeMount.mountPath and of HostPathVolumeSource.path). */
function checkMounts(mounts: readonly Mount[]): void {
  const seen = new Set<string>();
  for (const { source, target } of mounts) {
    if (target.includes(":")) throw cannot("mount to a path with a colon", "use another --mount target");
    if (seen.has(target)) throw cannot(`mount twice to ${target}`, "use another --mount target");
    if (source.split("/").includes(".."))
      throw cannot(`mount ${source}, a path with ..`, "write the path without ..");
    seen.add(target);
  }
}
