/** The labels of a node: those that follow from its facts, whatever the lock, and the image that resolve picks there. */

import { marchesOn } from "../../../hardware/cpu-marches.ts";
import { compatAllowsClass } from "../../../hardware/forward-compat.ts";
import type { HostFacts } from "../../../host/facts.ts";
import type { Lock } from "../../../lock/lock.ts";
import { sortedEntries } from "../../../io/collections.ts";
import { type HostView, vendorOfProblem, viewHost } from "../../../resolve/host-view.ts";
import { type ResolveImageOptions, resolveImage } from "../../../resolve/resolve-image.ts";
import { checkGpuPresence } from "../../../resolve/rules/gpu-presence.ts";
import type { Resolution } from "../../../resolve/verdict.ts";
import {
  keys,
  knownComputes,
  labelledFeatures,
  platformValue,
  resolvedLabel,
  unknownValue,
  versionNumber,
} from "./vocabulary.ts";

export type NodeLabels = Readonly<Record<string, string>>;

/**
 * The labels of a node, keys sorted. Numbers are there on every node, 0 for unknown, as systems answer "no" to any
 * comparison with a label that is absent.
 *
 * @example
 * nodeLabels(facts)["driver"]; // "570.124.06"
 */
export function nodeLabels(host: HostFacts): NodeLabels {
  const view = viewHost(host);
  const labels: Record<string, string> = {
    [keys.vocabulary]: vocabularyOf(view),
    [keys.platform]: platformValue(view.platform),
    ...(view.broken.some((problem) => vendorOfProblem(problem) === "nvidia")
      ? { [keys.broken]: "true" }
      : {}),
    ...(view.untold.nvidia.length > 0 ? { [keys.gpuUnknown]: "true" } : {}),
    ...cpuLabels(view),
    ...(view.kernel === null ? {} : { [keys.kernel]: view.kernel.text }),
    [keys.kernelNumber]: String(view.kernel === null ? 0 : versionNumber(view.kernel.parts)),
    ...(view.runtime === null ? {} : { [keys.runtime]: view.runtime }),
    ...nvidiaLabels(host, view),
  };
  return Object.fromEntries(sortedEntries(labels));
}

export interface AdvertisedNode {
  readonly labels: NodeLabels;
  /** `match` is null where no image fits: then the node advertises none. */
  readonly resolution: Resolution;
}

/**
 * The labels of a node with the one of its image, keys sorted. Throws as `resolveImage` does.
 *
 * @example
 * const { labels } = advertiseNode(lock, facts);
 * labels["image.vision"]; // "2.4.0-12.8.1_8.0_x86-64-v3-…"
 */
export function advertiseNode(
  lock: Lock,
  host: HostFacts,
  options: ResolveImageOptions = {},
): AdvertisedNode {
  const resolution = resolveImage(lock, host, options);
  const image = resolution.match === null ? undefined : lock.images[resolution.match.cell];
  if (image === undefined) return { labels: nodeLabels(host), resolution };
  const { key, value } = resolvedLabel(lock.name, image.tag);
  const labels = Object.fromEntries(sortedEntries({ ...nodeLabels(host), [key]: value }));
  return { labels, resolution };
}

/** `linux/amd64`: only marches of the host's own architecture are its words. */
function cpuLabels({ platform, features, cpu }: HostView): NodeLabels {
  const level = cpu.level === null ? {} : { [keys.cpuLevel]: cpu.level };
  if (features === null) return level;
  const marches = marchesOn(platform).filter((march) => march.features.every((each) => features.has(each)));
  return {
    ...level,
    ...Object.fromEntries(marches.map(({ name }) => [keys.march(name), "true"])),
    ...Object.fromEntries(
      [...features]
        .filter((name) => labelledFeatures().has(name))
        .map((name) => [keys.feature(name), "true"]),
    ),
  };
}

function nvidiaLabels(host: HostFacts, view: HostView): NodeLabels {
  const { nvidia } = view;
  const driver = nvidia?.driver ?? null;
  const cuda = nvidia?.cuda ?? null;
  const numbers = {
    [keys.driverNumber]: String(driver === null ? 0 : versionNumber(driver.parts)),
    [keys.cudaNumber]: String(cuda === null ? 0 : versionNumber(cuda.parts)),
    [keys.gpuCount]: String(nvidia?.gpus.length ?? 0),
  };
  if (nvidia === null) return numbers;
  const kinds = nvidia.gpus.map((gpu) => ({
    compute: gpu.compute === null ? unknownValue : `${gpu.compute.major}.${gpu.compute.minor}`,
    brand: gpu.brand ?? unknownValue,
  }));
  const classes = new Set(nvidia.gpus.map((gpu) => gpu.class));
  const compat = [...classes].every((name) => compatAllowsClass(name) === true);
  const products = [...new Set((host.nvidia?.gpus ?? []).map(({ name }) => name))].filter(
    (name) => name !== null,
  );
  const profiles = (host.nvidia?.gpus ?? []).flatMap(({ mig }) => mig.map(({ profile }) => profile));
  const product = products.length > 1 ? "mixed" : plainValue(products[0] ?? "");
  return {
    ...numbers,
    ...(driver === null ? {} : { [keys.driver]: driver.text }),
    ...(cuda === null ? {} : { [keys.cuda]: cuda.text }),
    [keys.driverScale]: nvidia.scale,
    ...(checkGpuPresence(view).ok ? { [keys.gpuUsable]: "true" } : {}),
    ...(compat && nvidia.gpus.length > 0 ? { [keys.forwardCompat]: "true" } : {}),
    ...(nvidia.compat.adds === null ? {} : { [keys.compatAdds]: nvidia.compat.adds }),
    ...(nvidia.compat.hostFirst === true ? { [keys.hostFirst]: "true" } : {}),
    ...(product === "" ? {} : { [keys.gpuProduct]: product }),
    ...counted(kinds.map(({ compute }) => keys.compute(compute))),
    ...counted(kinds.map(({ brand }) => keys.brand(brand))),
    ...counted(kinds.map(({ compute, brand }) => keys.kind(compute, brand))),
    ...counted(profiles.map((profile) => keys.mig(profilePart(profile)))),
  };
}

function counted(names: readonly string[]): NodeLabels {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}

/** The first version whose words describe every GPU; a compute capability that is not known at all is a word of each. */
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

/** For people: two products may share a word, as nothing is decided by it. */
function plainValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .slice(0, 63)
    .replace(/^[^A-Za-z0-9]+|(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/g, "");
}

/** The end of a label's name, which has 63 characters in all. */
function profilePart(profile: string): string {
  const part = plainValue(profile.slice(0, 50));
  return part === "" ? unknownValue : part;
}
