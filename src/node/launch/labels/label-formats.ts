/** Writes a node's labels for each system, within its limits for names and values. */

import type { HostFacts } from "../../../facts/facts.ts";
import { groupBy } from "../../../io/collections.ts";
import type { GpuVendor } from "../../../hardware/gpu-vendors.ts";
import { unitsOf } from "../gpu-units.ts";
import { shellWord } from "../shell.ts";
import type { NodeLabels } from "./node-labels.ts";
import { labelNames } from "./vocabulary.ts";

export interface LabelFormat {
  readonly description: string;
  /** Ends with a newline. */
  readonly write: (labels: NodeLabels, host: HostFacts) => string;
}

export const labelFormats = {
  kubernetes: {
    description: "NAME=VALUE for kubectl label node",
    write: (labels) => pairLines(labels, labelNames.kubernetes),
  },
  nfd: {
    // One label per line, with an own namespace before the slash (Node Feature Discovery, "Local feature source").
    description:
      "a feature file for Node Feature Discovery, in /etc/kubernetes/node-feature-discovery/features.d",
    write: (labels) => pairLines(labels, labelNames.kubernetes),
  },
  mesos: {
    description: "flags of mesos-agent",
    write: (labels, host) => mesosFlags(labels, host),
  },
  docker: {
    description: "NAME=VALUE for docker node update --label-add",
    write: (labels) => pairLines(brief(labels), labelNames.docker),
  },
  nomad: {
    description: "NAME=VALUE for nomad node meta apply",
    write: (labels) => pairLines(forImages(labels), labelNames.nomad),
  },
  slurm: {
    // A list with commas, of names without blanks and operators (slurm.conf, "Features").
    description: "features for slurm.conf, or for AvailableFeatures and ActiveFeatures of scontrol update",
    write: (labels) =>
      `${Object.entries(brief(labels))
        .map(([key, value]) => labelNames.slurm(key, value))
        .join(",")}\n`,
  },
  json: {
    description: "all of it as JSON, without prefixes",
    write: (labels) => `${JSON.stringify({ schemaVersion: 1, labels }, null, 2)}\n`,
  },
} as const satisfies Record<string, LabelFormat>;

export type LabelFormatName = keyof typeof labelFormats;

export function isLabelFormat(name: string): name is LabelFormatName {
  return Object.hasOwn(labelFormats, name);
}

function pairLines(labels: NodeLabels, name: (key: string) => string): string {
  return Object.entries(labels)
    .map(([key, value]) => `${name(key)}=${value}\n`)
    .join("");
}

/** The labels without CPU features and encoded numbers, for systems that compare neither. */
function brief(labels: NodeLabels): NodeLabels {
  return Object.fromEntries(
    Object.entries(forImages(labels)).filter(([key]) => !key.startsWith("cpu.") && !key.endsWith("-number")),
  );
}

/** The labels without those of single devices, which Kubernetes alone can claim. */
export function forImages<Value>(labels: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith("device.")));
}

/** The flags of an agent with such GPUs; null where agents isolate none of the vendor. */
const agentFlags: Readonly<Record<GpuVendor, ((indexes: readonly number[]) => readonly string[]) | null>> = {
  nvidia: (indexes) => [
    "--isolation=filesystem/linux,docker/runtime,cgroups/devices,gpu/nvidia",
    `--nvidia_gpu_devices=${indexes.join(",")}`,
    `--resources=gpus:${indexes.length}`,
  ],
  amd: null,
};

/**
 * Attributes, and the GPUs that the agent offers. Sources: Mesos, "Attributes and Resources" (`name:value;…`) and "Nvidia GPU Support"
 * (`--nvidia_gpu_devices` names them and `--resources` counts them; an agent takes both or neither).
 */
function mesosFlags(labels: NodeLabels, host: HostFacts): string {
  const attributes = Object.entries(brief(labels))
    .map(([key, value]) => `${labelNames.mesos(key)}:${value}`)
    .join(";");
  const whole = unitsOf(host).filter(({ vendor, mig }) => agentFlags[vendor] !== null && mig === null);
  const offers = [...groupBy(whole, ({ vendor }) => vendor)].flatMap(
    ([vendor, units]) => agentFlags[vendor]?.(units.map(({ gpu }) => gpu.index)) ?? [],
  );
  const flags = [
    `--attributes=${attributes}`,
    // By default the Mesos containerizer knows no Docker images ("Container Images").
    "--image_providers=docker",
    ...(offers.length === 0 ? ["--isolation=filesystem/linux,docker/runtime"] : offers),
  ];
  return flags.map((flag) => `${shellWord(flag)}\n`).join("");
}
