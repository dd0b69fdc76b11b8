/** Writes the labels of many nodes as the commands or words that give them to each system. */

import { groupBy } from "../../../io/collections.ts";
import type { HostLabels } from "../../labels.ts";
import { shellWord } from "../shell.ts";
import { forImages } from "./label-formats.ts";
import type { LabelChanges } from "./image-labels.ts";
import { nodeNames, requireNodes, type NodeName } from "./node-names.ts";
import { labelNames } from "./vocabulary.ts";

export interface HostLabelFormat {
  readonly description: string;
  /** Lines that end with a newline; empty if nothing changes. Throws `FACTS_SCHEMA` for hosts that the system would not take as nodes. */
  readonly write: (hosts: readonly HostLabels[]) => string;
}

export const hostLabelFormats = {
  kubernetes: {
    description: "kubectl label node, for a shell",
    write: ofNodes(nodeNames.kubernetes, (hosts) =>
      lines(alike(hosts).flatMap(({ names, labels }) => kubectlLabel(names, labels))),
    ),
  },
  patch: {
    description: "lines with the merge patch of each Kubernetes node",
    write: ofNodes(nodeNames.kubernetes, (hosts) =>
      lines(
        changed(hosts).map(({ host, labels }) =>
          JSON.stringify({ host, patch: { metadata: { labels: named(labels, labelNames.kubernetes) } } }),
        ),
      ),
    ),
  },
  docker: {
    description: "docker node update, for a shell",
    // `--label-rm` fails for an absent label. No image has an empty name.
    write: ofNodes(nodeNames.docker, (hosts) =>
      words(hosts, labelNames.docker, (name, pairs) => [
        "docker node update",
        ...pairs.map(([key, value]) => `--label-add ${shellWord(`${key}=${value ?? ""}`)}`),
        shellWord(name),
      ]),
    ),
  },
  nomad: {
    description: "nomad node meta apply, for a shell; hosts are named by the ids of their nodes",
    write: ofNodes(nodeNames.nomad, (hosts) =>
      words(hosts, labelNames.nomad, (name, pairs) => [
        `nomad node meta apply -node-id=${shellWord(name)}`,
        ...pairs.filter(([, value]) => value === null).map(([key]) => `-unset=${key}`),
        ...pairs.filter(([, value]) => value !== null).map(([key, value]) => shellWord(`${key}=${value}`)),
      ]),
    ),
  },
  slurm: {
    description: "the features of each node, for slurm.conf",
    write: ofNodes(nodeNames.slurm, (hosts) =>
      lines(
        hosts.flatMap(({ host, labels }) => {
          const features = Object.entries(forImages(labels)).flatMap(([key, value]) =>
            value === null ? [] : [labelNames.slurm(key, value)],
          );
          return features.length === 0 ? [] : [`NodeName=${host} Features=${features.join(",")}`];
        }),
      ),
    ),
  },
  json: {
    description: "all of it as JSON, without prefixes; null takes a label away",
    write: (hosts) => `${JSON.stringify({ schemaVersion: 1, hosts }, null, 2)}\n`,
  },
} as const satisfies Record<string, HostLabelFormat>;

export function isHostLabelFormat(name: string): name is keyof typeof hostLabelFormats {
  return Object.hasOwn(hostLabelFormats, name);
}

function ofNodes(name: NodeName, write: HostLabelFormat["write"]): HostLabelFormat["write"] {
  return (hosts) => {
    requireNodes(hosts, name);
    return write(hosts);
  };
}

/** A command line has room for so many names. */
const mostNames = 100;

function kubectlLabel(names: readonly string[], labels: LabelChanges): readonly string[] {
  const pairs = Object.entries(named(labels, labelNames.kubernetes)).map(([key, value]) =>
    value === null ? `${key}-` : `${key}=${value}`,
  );
  return Array.from({ length: Math.ceil(names.length / mostNames) }, (_, at) =>
    [
      "kubectl label node --overwrite",
      ...names.slice(at * mostNames, (at + 1) * mostNames).map(shellWord),
      ...pairs,
    ].join(" "),
  );
}

/** Hosts with the same changes. */
function alike(hosts: readonly HostLabels[]) {
  return [...groupBy(changed(hosts), ({ labels }) => JSON.stringify(labels)).values()].map((same) => ({
    names: same.map(({ host }) => host),
    labels: same[0]?.labels ?? {},
  }));
}

function changed(hosts: readonly HostLabels[]): readonly HostLabels[] {
  return hosts.filter(({ labels }) => Object.keys(labels).length > 0);
}

function words(
  hosts: readonly HostLabels[],
  name: (key: string) => string,
  write: (host: string, pairs: readonly (readonly [string, string | null])[]) => readonly string[],
): string {
  const each = changed(hosts.map(({ host, labels }) => ({ host, labels: forImages(labels) })));
  return lines(each.map(({ host, labels }) => write(host, Object.entries(named(labels, name))).join(" ")));
}

function named(labels: LabelChanges, name: (key: string) => string): LabelChanges {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [name(key), value]));
}

function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join("");
}
