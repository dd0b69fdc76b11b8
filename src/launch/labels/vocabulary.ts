/**
 * What a node says about itself: facts and what follows from them alone, whatever the lock. Affinities of a fleet are
 * written in exactly these words, so what a node advertises decides there as its facts decide in `resolve`.
 */

import { createHash } from "node:crypto";
import { allMarches, marchesOn } from "../../hardware/cpu-marches.ts";
import { compatAllowsClass } from "../../hardware/forward-compat.ts";
import type { HostFacts } from "../../host/facts.ts";
import { sortedEntries } from "../../oci/text-order.ts";
import { type HostView, viewHost } from "../../resolve/host-view.ts";
import { checkGpuPresence } from "../../resolve/rules/gpu-presence.ts";
import type { NodeLabel } from "./node-label.ts";
import { versionNumber } from "./version-number.ts";

/** Compute capabilities that each version of the vocabulary has words for. A new one is a new row, never a change. */
export const knownComputes = [
  // biome-ignore format: in the order of the devices
  [
    "2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5",
    "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.1", "10.3", "10.7", "11.0", "12.0", "12.1",
  ],
] as const satisfies readonly (readonly string[])[];

/** What {@link keys.vocabulary} says on a node that some version describes: a node of newer words, or of none, may be anything. */
export const vocabularyVersions: readonly string[] = knownComputes.map((_, index) => String(index + 1));

/** Brands as `NVIDIA_REQUIRE_CUDA` knows them: see resolve/gpu-brand.ts. */
export const knownBrands = [
  "geforce",
  "nvidia",
  "nvidiartx",
  "nvs",
  "quadro",
  "quadrortx",
  "tesla",
  "titan",
  "unknown",
] as const;

export const unknownValue = "unknown";

/** The keys, without the prefix that each system writes before them. */
export const keys = {
  /** Version of the words that describe this node whole. A node that no version describes says `none`. */
  vocabulary: "vocabulary",
  platform: "platform",
  /** `true` where the GPUs are in a state that resolve calls broken. */
  broken: "broken",
  cpuLevel: "cpu-level",
  march: (name: string) => `march.${name}`,
  feature: (name: string) => `cpu.${name}`,
  kernel: "kernel",
  kernelNumber: "kernel-number",
  driver: "driver",
  driverNumber: "driver-number",
  /** `linux`, `wsl` or `l4t`: how the driver's version is counted. */
  driverScale: "driver-scale",
  cuda: "cuda",
  cudaNumber: "cuda-number",
  runtime: "runtime",
  gpuCount: "gpu.count",
  gpuProduct: "gpu.product",
  /** `true` where a driver drives every visible GPU and there is one. */
  gpuUsable: "gpu.usable",
  /** `true` where every visible GPU is of a class that NVIDIA's forward-compatibility packages support. */
  forwardCompat: "gpu.forward-compat",
  compute: (compute: string) => `gpu.compute.${compute}`,
  brand: (brand: string) => `gpu.brand.${brand}`,
  kind: (compute: string, brand: string) => `gpu.kind.${compute}-${brand}`,
  mig: (profile: string) => `gpu.mig.${profile}`,
  image: (lockName: string) => `image.${imagePart(lockName)}`,
} as const;

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
    ...(view.broken.length > 0 ? { [keys.broken]: "true" } : {}),
    ...cpuLabels(view),
    ...(view.kernel === null ? {} : { [keys.kernel]: view.kernel.text }),
    [keys.kernelNumber]: String(view.kernel === null ? 0 : versionNumber(view.kernel.parts)),
    ...(view.runtime === null ? {} : { [keys.runtime]: view.runtime }),
    ...nvidiaLabels(host, view),
  };
  return Object.fromEntries(sortedEntries(labels));
}

/** What `resolve` picks on a node of this lock; the value is a word that every system takes. */
export function resolvedLabel(lockName: string, tag: string): NodeLabel {
  return { key: keys.image(lockName), value: labelValue(tag) };
}

/**
 * Text as the value of a Kubernetes label: at most 63 of `[A-Za-z0-9_.-]`, letters or digits at the ends. What has to be
 * changed or cut gets a hash, so that different texts stay different.
 */
export function labelValue(text: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(text)) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  const start = text
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 50);
  return `${start}${start === "" ? "" : "."}${hash}`;
}

/** The end of a label's name, which has 63 characters in all and a letter or digit as its last; too long ones get a hash. */
function imagePart(lockName: string): string {
  const part = lockName.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/(?<![^A-Za-z0-9])[^A-Za-z0-9]+$/, "");
  if (part.length <= 57) return part === "" ? unknownValue : part;
  const hash = createHash("sha256").update(lockName).digest("hex").slice(0, 10);
  return `${part.slice(0, 46)}.${hash}`;
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

export function platformValue(platform: string): string {
  return platform.replaceAll("/", "-");
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

let labelled: ReadonlySet<string> | undefined;

/** Features that some march needs: the only ones that an image can need. The other hundred names of /proc/cpuinfo are noise. */
export function labelledFeatures(): ReadonlySet<string> {
  labelled ??= new Set(allMarches().flatMap(({ features }) => features));
  return labelled;
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
