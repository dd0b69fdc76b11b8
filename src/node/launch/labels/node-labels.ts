/** The labels of a node's facts. */

import { marchesOn } from "../../../hardware/cpu-marches.ts";
import type { HostFacts } from "../../../facts/facts.ts";
import { sortedEntries } from "../../../io/collections.ts";
import { type GpuVendor, gpuVendors } from "../../../hardware/gpu-vendors.ts";
import { type HostView, viewHost } from "../../../resolve/host-view.ts";
import { nvidiaLabels } from "./nvidia-labels.ts";
import { keys, labelledFeatures, type LabelValues, mark, numberOf, platformValue } from "./vocabulary.ts";

/** No label tells of an AMD GPU. */
const gpuLabels: Readonly<Record<GpuVendor, (host: HostFacts, view: HostView) => LabelValues>> = {
  nvidia: nvidiaLabels,
  amd: () => ({}),
};

export type NodeLabels = Readonly<Record<string, string>>;

/**
 * The labels of a node, keys sorted. Every node has the numbers, 0 for unknown: systems answer "no" to any comparison with an absent label.
 *
 * @example
 * nodeLabels(facts)["driver"]; // "570.124.06"
 */
export function nodeLabels(host: HostFacts): NodeLabels {
  const view = viewHost(host);
  const labels: LabelValues = {
    [keys.platform]: platformValue(view.platform),
    ...cpuLabels(view),
    [keys.kernel]: view.kernel?.text,
    [keys.kernelNumber]: numberOf(view.kernel),
    [keys.runtime]: view.runtime,
    ...Object.assign({}, ...gpuVendors.map((vendor) => gpuLabels[vendor](host, view))),
  };
  return presentLabels(labels);
}

/** The labels that a node has, keys sorted. */
export function presentLabels(labels: LabelValues): NodeLabels {
  return Object.fromEntries(
    sortedEntries(labels).flatMap(([key, value]) => (value == null ? [] : [[key, value]])),
  );
}

function cpuLabels({ platform, features, cpu }: HostView): LabelValues {
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
