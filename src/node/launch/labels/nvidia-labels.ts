/** The labels of a node's NVIDIA GPUs. */

import type { HostFacts } from "../../../facts/facts.ts";
import { groupBy } from "../../../io/collections.ts";
import { type HostView, vendorOfProblem } from "../../../resolve/host-view.ts";
import { checkNvidiaPresence } from "../../../resolve/rules/nvidia/nvidia-presence.ts";
import { keys, knownComputes, type LabelValues, mark, numberOf, unknownValue } from "./vocabulary.ts";

export function nvidiaLabels(host: HostFacts, view: HostView): LabelValues {
  const { nvidia } = view;
  const numbers = {
    [keys.vocabulary]: vocabularyOf(view),
    [keys.broken]: mark(view.broken.some((problem) => vendorOfProblem(problem) === "nvidia")),
    [keys.gpuUnknown]: mark(view.unknownGpuFacts.nvidia.length > 0),
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
    [keys.driverScale]: nvidia.driverScale,
    [keys.gpuUsable]: mark(checkNvidiaPresence(view).ok),
    [keys.gpuProduct]: product === "" ? null : product,
    ...counted(computes.map(keys.compute)),
    ...counted(profiles.map((profile) => keys.mig(profilePart(profile)))),
  };
}

function counted(names: readonly string[]): LabelValues {
  const groups = groupBy(names, (name) => name);
  return Object.fromEntries([...groups].map(([name, { length }]) => [name, String(length)]));
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
