/** Reads host facts from a Kubernetes node: labels, ResourceSlices, NodeFeature objects, imgmatch's annotation. */

import { kernelNumber, withinGrammar } from "../../facts/fact-grammar.ts";
import { factsSchemaVersion, type HostFacts, type HostProblem, type VendorFacts } from "../../facts/facts.ts";
import { sideOfFacts } from "../../facts/sides.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../../hardware/gpu-vendors.ts";
import type { Labels, NamedHost } from "../../facts/named-host.ts";
import { labelsOpen, sourcesDisagree } from "../../facts/host-problems.ts";
import { labelledType } from "../catalog.ts";
import { amdFromLabels } from "./amd-labels.ts";
import { factsAnnotation, type KubernetesNode } from "./cluster-objects.ts";
import { cpuFromLabels } from "./cpu-labels.ts";
import { blockedByDefault } from "./cpuid-labels.ts";
import { type OwnLabels, readAnnotation, readOwnLabels } from "./imgmatch-labels.ts";
import { withBrokenStates } from "../../facts/broken-states.ts";
import { type GpuReport, joinReports, type NamedReport, uncounted } from "./join-sources.ts";
import { isMigInvalid, nvidiaFromLabels, nvidiaFromPci } from "./nvidia-labels.ts";
import { type SlicedNode, slicedNode } from "./resource-slices.ts";
import { amdFromPci, amdFromSlices } from "./amd-slices.ts";
import { nvidiaFromSlices } from "./nvidia-slices.ts";
import { toldFeature } from "../../hardware/cpu-features.ts";

/**
 * Reads the facts that the node's objects prove. `HOST_LABELS_INCOMPLETE` names the facts that they leave open: a feature without a label
 * is absent only if every release of Node Feature Discovery would label it. `HOST_SOURCES_DISAGREE` names two sources that contradict each
 * other; their fact is unknown. imgmatch's annotation wins over labels.
 */
export async function factsOfNode(node: KubernetesNode): Promise<HostFacts> {
  const annotated = await readAnnotation(node.annotation);
  const labels = { ...node.features?.labels, ...node.labels };
  const own = await readOwnLabels(labels);
  const type = annotated.facts === null ? await labelledType(instanceType(labels)) : null;
  const host = hostOf({ ...node, labels }, own, type);
  const found = await Promise.all(
    gpuVendors.map((vendor) => readSide(vendor, { ...node, labels }, annotated.facts, own, type)),
  );
  const ofGpus = found.flatMap(({ problems }) => problems);
  const joined = Object.fromEntries(
    found.flatMap(({ vendor, facts }) => (facts === undefined ? [] : [[vendor, facts]])),
  ) as Pick<HostFacts, GpuVendor>;
  const { mistake, facts: exact } = annotated;
  if (exact !== null) {
    const [kernel, old] = agreed("kernel", exact.kernel, host.kernel);
    const problems = [...exact.problems, ...old, ...unlike(exact, host), ...ofGpus];
    return withBrokenStates(withinGrammar({ ...exact, kernel, ...joined, problems }));
  }
  return withinGrammar({
    ...host,
    ...joined,
    problems: [
      ...(mistake === null
        ? []
        : [labelsOpen(`the annotation ${factsAnnotation} is no facts: ${mistake}`, probeFix)]),
      ...host.problems,
      ...ofGpus,
      ...found.flatMap(({ vendor, facts, unproved }) =>
        unproved.map((what) => labelsOpen(what, sides[vendor].fix(facts?.driver ?? null))),
      ),
      ...found.flatMap(({ vendor, facts }) =>
        facts == null ? [] : sides[vendor].neverLabelled.map((what) => labelsOpen(what, probeFix)),
      ),
    ],
    sources: Object.assign({}, host.sources, ...found.map(({ sources }) => sources)),
  });
}

/** All facts but the GPUs, from labels and the node's status. */
function hostOf(
  { labels, info, features }: KubernetesNode,
  own: OwnLabels | null,
  type: NamedHost | null,
): HostFacts {
  const architecture = word(
    info.architecture ?? labels["kubernetes.io/arch"] ?? labels["beta.kubernetes.io/arch"],
  );
  const system =
    word(info.system ?? labels["kubernetes.io/os"] ?? labels["beta.kubernetes.io/os"]) ?? "linux";
  const kernel = info.kernel ?? labels["feature.node.kubernetes.io/kernel-version.full"] ?? "";
  const more = { all: features?.cpuid ?? false, features: own?.features ?? [] };
  const platform = `${system}/${architecture ?? "unknown"}`;
  const labelled = cpuFromLabels(labels, architecture ?? "unknown", more);
  const standIn = labelled.source === null && type?.facts.platform === platform ? type : null;
  const cpu = standIn === null ? labelled : { facts: standIn.facts.cpu, source: inCatalogue(standIn) };
  return {
    schemaVersion: factsSchemaVersion,
    platform,
    kernel: kernelNumber(kernel),
    cpu: cpu.facts,
    runtime: { nvidia: own?.runtime ?? null },
    problems: [
      ...(architecture === null ? [labelsOpen("no label names the architecture", architectureFix)] : []),
      ...(standIn === null
        ? []
        : [
            labelsOpen(
              `no label names CPU features: they are those of the machine type ${standIn.name} (${standIn.facts.sources["cpu.features"]})`,
              nfdFix,
            ),
          ]),
      ...cpuProblems(cpu.facts, architecture),
    ],
    sources: cpu.source === null ? {} : { "cpu.features": cpu.source },
  };
}

const annotation = `the annotation ${factsAnnotation}`;

type Awaitable<T> = T | Promise<T>;

/** A vendor's side of a node: its readers, the cure for what is open, and what no label tells. */
interface NodeSide<Facts> {
  readonly slices: (node: SlicedNode) => Awaitable<GpuReport<Facts>>;
  /** imgmatch's labels. */
  readonly own: (labels: OwnLabels | null) => Omit<GpuReport<Facts>, "counted">;
  readonly labels: (node: KubernetesNode) => Awaitable<GpuReport<Facts>>;
  readonly pci: (node: KubernetesNode) => Awaitable<GpuReport<Facts>["facts"]>;
  readonly fix: (driver: string | null) => string;
  readonly neverLabelled: readonly string[];
}

const sides: { readonly [V in GpuVendor]: NodeSide<VendorFacts[V]> } = {
  nvidia: {
    slices: nvidiaFromSlices,
    own: (labels) => ({ facts: labels?.nvidia, unproved: labels?.unproved ?? [] }),
    labels: nvidiaFromLabels,
    // The PCI bus shows cards, and no card in that state is one for CUDA.
    pci: ({ labels, features }) => (isMigInvalid(labels) ? undefined : nvidiaFromPci(features?.gpus)),
    fix: (driver) => (driver === null ? `run GPU Feature Discovery on the node, or ${probeFix}` : probeFix),
    neverLabelled: [
      "no label tells whether the driver works now, its kernel module's kind and library, or the container runtime's NVIDIA support",
    ],
  },
  amd: {
    slices: amdFromSlices,
    own: () => ({ facts: undefined, unproved: [] }),
    labels: amdFromLabels,
    pci: ({ features }) => amdFromPci(features?.gpus),
    fix: () => `run AMD's node labeller on the node, or ${probeFix}`,
    neverLabelled: [],
  },
};

async function readSide<Vendor extends GpuVendor>(
  vendor: Vendor,
  node: KubernetesNode,
  exact: HostFacts | null,
  own: OwnLabels | null,
  type: NamedHost | null,
) {
  const side = sides[vendor];
  const sliced = slicedNode(node.slices, `gpu.${vendor}.com`);
  const reports: readonly NamedReport<VendorFacts[Vendor]>[] = [
    {
      source: annotation,
      facts: exact === null ? undefined : sideOfFacts(vendor, exact),
      exact: true,
      counted: true,
      unproved: [],
    },
    ...(sliced === null ? [] : [{ source: "ResourceSlices", ...(await side.slices(sliced)) }]),
    { source: "imgmatch's labels", ...side.own(own), labelled: true, counted: true },
    { source: "node labels", ...(await side.labels(node)), labelled: true },
    // Not counted: a virtual function is a PCI device like its card.
    { source: "NodeFeature objects", ...uncounted(await side.pci(node)), labelled: true },
  ];
  const isTold = reports.some(
    ({ facts }) => facts !== undefined && facts?.unknown?.includes("gpus") !== true,
  );
  // imgmatch's labels, and a GPU in MIG mode without an instance, leave the GPUs open on purpose.
  if (type === null || isTold || own !== null || isMigInvalid(node.labels))
    return { vendor, ...joinReports(vendor, reports) };
  const facts = sideOfFacts(vendor, type.facts);
  const where = `no label names ${vendorNames[vendor]} GPUs: they are those of the machine type ${type.name}`;
  const catalogued = { source: inCatalogue(type), ...uncounted(facts, ...(facts === null ? [] : [where])) };
  const others = reports.map((report) => ({ ...report, unproved: [] }));
  return { vendor, ...joinReports(vendor, [...others, catalogued]) };
}

/** The kubelet writes the kernel at each start; the annotation may name the kernel before. */
function agreed(
  what: string,
  exact: string | null,
  reported: string | null,
): [string | null, readonly HostProblem[]] {
  if (exact === null || reported === null || exact === reported) return [exact ?? reported, []];
  return [null, [sourcesDisagree(what, `${annotation} says ${exact}`, `the node says ${reported}`)]];
}

/** Platform and CPU features on which labels and annotation disagree. */
function unlike({ cpu, platform }: HostFacts, labelled: HostFacts): readonly HostProblem[] {
  const lacking = (labelled.cpu.features ?? []).filter(
    (feature) => cpu.features?.includes(feature) === false && !cpu.unknown?.includes(feature),
  );
  const says = (what: string) => `${annotation} ${what}`;
  return [
    ...(platform === labelled.platform || labelled.platform.endsWith("/unknown")
      ? []
      : [sourcesDisagree("platform", says(`says ${platform}`), `the node says ${labelled.platform}`)]),
    ...(lacking.length === 0
      ? []
      : [
          sourcesDisagree(
            "CPU features",
            says(`lacks ${lacking.map(toldFeature).join(", ")}`),
            "node labels name them",
          ),
        ]),
  ];
}

/** GOOS or GOARCH; null for anything else. */
function word(text: string | undefined): string | null {
  return text !== undefined && /^[a-z0-9]{1,32}$/.test(text) ? text : null;
}

const architectureFix =
  "pass the whole Node (kubectl get node NAME -o json), or add the label kubernetes.io/arch";
const probeFix = "run imgmatch probe --json on the node and pass its output";
const nfdFix = `run Node Feature Discovery on the node, or ${probeFix}`;

/** Cloud controllers write the label at a node's start. */
function instanceType(labels: Labels): string | undefined {
  return labels["node.kubernetes.io/instance-type"] ?? labels["beta.kubernetes.io/instance-type"];
}

function inCatalogue({ name }: NamedHost): string {
  return `the catalogue's ${name}`;
}

function cpuProblems(
  { features, unknown = [] }: HostFacts["cpu"],
  architecture: string | null,
): readonly HostProblem[] {
  if (features === null) {
    return [labelsOpen("no label names CPU features", nfdFix)];
  }
  if (unknown.length === 0) return [];
  const blocked = blockedByDefault(architecture ?? "unknown");
  return [
    labelsOpen(
      `${unknown.length} CPU ${unknown.length === 1 ? "feature" : "features"} cannot be proved: ${unknown.map(toldFeature).join(", ")}`,
      // No label ever denies the other features.
      unknown.some((feature) => blocked.includes(feature))
        ? `let Node Feature Discovery label all (sources.cpu.cpuid.attributeBlacklist: [] in its worker's configuration), or ${probeFix}`
        : probeFix,
    ),
  ];
}
