/** The labels of a node's facts. */

import { marchesOn } from "../../../hardware/cpu-marches.ts";
import type { VersionParts } from "../../../hardware/driver-version.ts";
import type { HostFacts } from "../../../host/facts.ts";
import { sortedEntries } from "../../../io/collections.ts";
import { type HostView, vendorOfProblem, viewHost } from "../../../resolve/host-view.ts";
import { checkNvidiaPresence } from "../../../resolve/rules/nvidia/nvidia-presence.ts";
import {
  keys,
  knownComputes,
  labelledFeatures,
  platformValue,
  unknownValue,
  versionNumber,
} from "./vocabulary.ts";

export type NodeLabels = Readonly<Record<string, string>>;

/**
 * The labels of a node, keys sorted. Every node has the numbers, 0 for unknown: systems answer "no" to any comparison with an absent label.
 *
 * @example
 * nodeLabels(facts)["driver"]; // "570.124.06"
 */
export function nodeLabels(host: HostFacts): NodeLabels {
  const view = viewHost(host);
  const labels = {
    [keys.vocabulary]: vocabularyOf(view),
    [keys.platform]: platformValue(view.platform),
    [keys.broken]: mark(view.broken.some((problem) => vendorOfProblem(problem) === "nvidia")),
    [keys.gpuUnknown]: mark(view.unknownGpuFacts.nvidia.length > 0),
    ...cpuLabels(view),
    [keys.kernel]: view.kernel?.text,
    [keys.kernelNumber]: numberOf(view.kernel),
    [keys.runtime]: view.runtime,
    ...nvidiaLabels(host, view),
  };
  return Object.fromEntries(
    sortedEntries(labels).flatMap(([key, value]) => (value == null ? [] : [[key, value]])),
  );
}

/** Values of labels. A label without one is left out. */
type Values = Readonly<Record<string, string | null | undefined>>;

function mark(holds: boolean): string | null {
  return holds ? "true" : null;
}

function numberOf(version: { readonly parts: VersionParts } | null): string {
  return String(version === null ? 0 : versionNumber(version.parts));
}

function cpuLabels({ platform, features, cpu }: HostView): Values {
  const level = { [keys.cpuLevel]: cpu.level };
  if (features === null) return level;
  const marches = marchesOn(platform).filter((march) => march.features.every((each) => features.has(each)));
  return {
    ...level,
    ...Object.fromEntries(marches.map(({ name }) => [keys.march(name), "true"])),
    ...Object.fromEntries(
      [...labelledFeatures()].map((name) => [keys.feature(name), mark(features.has(name))]),
    ),
  };
}

function nvidiaLabels(host: HostFacts, view: HostView): Values {
  const { nvidia } = view;
  const numbers = {
    [keys.driverNumber]: numberOf(nvidia?.driver ?? null),
    [keys.cudaNumber]: numberOf(nvidia?.cuda ?? null),
    [keys.gpuCount]: String(nvidia?.gpus.length ?? 0),
  };
  if (nvidia === null) return numbers;
  const computes = nvidia.gpus.map(({ compute }) =>
    compute === null ? unknownValue : `${compute.major}.${compute.minor}`,
  );
  const gpus = host.nvidia?.gpus ?? [];
  const products = [...new Set(gpus.flatMap(({ name }) => name ?? []))];
  const profiles = gpus.flatMap(({ mig }) => mig?.map(({ profile }) => profile) ?? []);
  const product = products.length > 1 ? "mixed" : plainValue(products[0] ?? "");
  return {
    ...numbers,
    [keys.driver]: nvidia.driver?.text,
    [keys.cuda]: nvidia.cuda?.text,
    [keys.driverScale]: nvidia.scale,
    [keys.gpuUsable]: mark(checkNvidiaPresence(view).ok),
    [keys.gpuProduct]: product === "" ? null : product,
    ...counted(computes.map(keys.compute)),
    ...counted(profiles.map((profile) => keys.mig(profilePart(profile)))),
  };
}

function counted(names: readonly string[]): NodeLabels {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}

/** The first version that has a word for every GPU. Every version has one for an unknown compute capability. */
function vocabularyOf({ nvidia }: HostView): string {
  const computes = (nvidia?.gpus ?? []).flatMap(({ compute }) =>
    compute === null ? [] : [`${compute.major}.${compute.minor}`],
  );
  const known = new Set<string>();
  for (const [index, row] of knownComputes.entries()) {
    for (const compute of row) known.add(compute);
    if (computes.every((compute) => known.has(compute))) return String(index + 1);
  }
  return "none";
}

/** A value for people: it may be ambiguous, as nothing depends on it. */
function plainValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .slice(0, 63)
    .replace(/^[^A-Za-z0-9]+|(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/g, "");
}

/** A part of a label's name, which has at most 63 characters. */
function profilePart(profile: string): string {
  const part = plainValue(profile.slice(0, 50));
  return part === "" ? unknownValue : part;
}
