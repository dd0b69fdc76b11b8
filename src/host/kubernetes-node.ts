/** Host facts from a Kubernetes node, as Node Feature Discovery, GPU Feature Discovery and AMD's node labeller label it. */

import { blockedByDefault } from "./cpuid-labels.ts";
import { withinGrammar } from "./fact-grammar.ts";
import { factsSchemaVersion, type HostFacts, type HostProblem } from "./facts.ts";
import { kernelNumber } from "./kernel-facts.ts";
import { cpuFromLabels } from "./kubernetes-cpu.ts";
import { amdFromLabels } from "./kubernetes-amd.ts";
import { nvidiaFromLabels } from "./kubernetes-gpus.ts";
import type { KubernetesNode } from "./kubernetes-object.ts";
import { labelsOpen } from "./host-problems.ts";

/**
 * Reads the facts that the node's labels prove. A fact that they leave open stays unknown and is named in `problems`, as
 * `HOST_LABELS_INCOMPLETE`: a feature without a label is absent only if every release of Node Feature Discovery would have labelled it.
 */
export async function factsOfNode(node: KubernetesNode): Promise<HostFacts> {
  const { labels, info } = node;
  const architecture = word(
    info.architecture ?? labels["kubernetes.io/arch"] ?? labels["beta.kubernetes.io/arch"],
  );
  const system =
    word(info.system ?? labels["kubernetes.io/os"] ?? labels["beta.kubernetes.io/os"]) ?? "linux";
  const kernel = info.kernel ?? labels["feature.node.kubernetes.io/kernel-version.full"] ?? "";
  const cpu = cpuFromLabels(labels, architecture ?? "unknown");
  const nvidia = await nvidiaFromLabels(node);
  const amd = await amdFromLabels(node);
  return withinGrammar({
    schemaVersion: factsSchemaVersion,
    platform: `${system}/${architecture ?? "unknown"}`,
    kernel: kernelNumber(kernel),
    cpu: cpu.facts,
    nvidia: nvidia.facts,
    amd: amd.facts,
    runtime: { nvidia: null },
    problems: [
      ...(architecture === null ? [labelsOpen("no label names the architecture", architectureFix)] : []),
      ...cpuProblems(cpu.facts, architecture),
      ...nvidia.open.map((what) => labelsOpen(what, nvidia.facts?.driver == null ? gpuFix : probeFix)),
      ...(nvidia.facts == null ? [] : [labelsOpen(neverLabelled, probeFix)]),
      ...amd.open.map((what) => labelsOpen(what, amdFix)),
    ],
    sources: {
      ...(cpu.source === null ? {} : { "cpu.features": cpu.source }),
      ...(nvidia.facts == null ? {} : { "nvidia.driver": "node labels", "nvidia.gpus": "node labels" }),
      ...(amd.facts == null ? {} : { "amd.driver": "node labels", "amd.gpus": "node labels" }),
    },
  });
}

/** GOOS and GOARCH are such words; anything else is not known. */
function word(text: string | undefined): string | null {
  return text !== undefined && /^[a-z0-9]{1,32}$/.test(text) ? text : null;
}

const architectureFix =
  "pass the whole Node (kubectl get node NAME -o json), or add the label kubernetes.io/arch";
const probeFix = "run imgmatch probe --json on the node and pass its output";
const gpuFix = `run GPU Feature Discovery on the node, or ${probeFix}`;
const amdFix = `run AMD's node labeller on the node, or ${probeFix}`;
const neverLabelled =
  "no label tells whether the driver works now, its kernel module's kind and library, or the container runtime's NVIDIA support";

function cpuProblems(
  { features, unknown = [] }: HostFacts["cpu"],
  architecture: string | null,
): readonly HostProblem[] {
  if (features === null) {
    return [
      labelsOpen("no label names CPU features", `run Node Feature Discovery on the node, or ${probeFix}`),
    ];
  }
  if (unknown.length === 0) return [];
  const blocked = blockedByDefault(architecture ?? "unknown");
  return [
    labelsOpen(
      `${unknown.length} CPU ${unknown.length === 1 ? "feature" : "features"} cannot be proved: ${unknown.join(", ")}`,
      // Of the others no label ever says that they are not there.
      unknown.some((feature) => blocked.has(feature))
        ? `let Node Feature Discovery label all (sources.cpu.cpuid.attributeBlacklist: [] in its worker's configuration), or ${probeFix}`
        : probeFix,
    ),
  ];
}
