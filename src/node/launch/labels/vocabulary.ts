/**
 * The words in which a node says what it is. Fleets are written in exactly these words, so what a node advertises decides there
 * as its facts decide in `resolve`.
 */

import { createHash } from "node:crypto";
import { allMarches } from "../../../hardware/cpu-marches.ts";
import type { VersionParts } from "../../../hardware/driver-version.ts";
import { ownPrefix } from "../../../host/kubernetes/cluster-objects.ts";

/** A label of a node, without the prefix that each system writes before the key. */
export interface NodeLabel {
  readonly key: string;
  readonly value: string;
}

/** Compute capabilities that each version of the vocabulary has words for. A new one is a new row, never a change. */
export const knownComputes = [
  // biome-ignore format: in the order of the devices
  [
    "2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5",
    "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.1", "10.3", "10.7", "11.0", "12.0", "12.1",
  ],
] as const satisfies readonly (readonly string[])[];

/** Values of {@link keys.vocabulary} that this version knows: a node with newer words, or with none, may be anything. */
export const vocabularyVersions: readonly string[] = knownComputes.map((_, index) => String(index + 1));

/** Brands as `NVIDIA_REQUIRE_CUDA` knows them: see `brandOf` in resolve/host-view.ts. */
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
  /** `true` where it is not known whether the node has GPUs, which they are or which driver they have. */
  gpuUnknown: "gpu.unknown",
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
  /** `newer`, `listed` or `never`: when the container toolkit puts an image's compatibility package before the host's library. */
  compatAdds: "gpu.compat-adds",
  /** `true` where the host's library comes before whatever an image's `ld.so.conf` names. */
  hostFirst: "gpu.host-first",
  compute: (compute: string) => `gpu.compute.${compute}`,
  brand: (brand: string) => `gpu.brand.${brand}`,
  kind: (compute: string, brand: string) => `gpu.kind.${compute}-${brand}`,
  mig: (profile: string) => `gpu.mig.${profile}`,
  image: (lockName: string) => `image.${imagePart(lockName)}`,
} as const;

/** The image that `resolve` picks on a node of this lock; the value is a word that every system takes. */
export function resolvedLabel(lockName: string, tag: string): NodeLabel {
  return { key: keys.image(lockName), value: labelValue(tag) };
}

/**
 * Text as the value of a Kubernetes label: at most 63 of `[A-Za-z0-9_.-]`, letters or digits at the ends. A text that has to be
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

export function platformValue(platform: string): string {
  return platform.replaceAll("/", "-");
}

let labelled: ReadonlySet<string> | undefined;

/** Features that some march needs: the only ones that an image can need. The other hundred names of /proc/cpuinfo are noise. */
export function labelledFeatures(): ReadonlySet<string> {
  labelled ??= new Set(allMarches().flatMap(({ features }) => features));
  return labelled;
}

/** How each system spells the name of a label. */
export const labelNames = {
  kubernetes: (key: string) => `${ownPrefix}${key}`,
  /** Engine and node labels: reverse DNS is for companies' own, so one short word stands before the dot. */
  docker: (key: string) => `imgmatch.${key}`,
  /** Attributes are text of [a-zA-Z0-9_/.-] (Mesos, "Attributes and Resources"). */
  mesos: (key: string) => `imgmatch.${key}`,
  /** `${meta.…}` is read as an expression, in which a dot and a hyphen mean something else. */
  nomad: (key: string) => `imgmatch_${key.replace(/[^A-Za-z0-9]/g, "_")}`,
  /** Features are bare words: the value becomes part of the name. */
  slurm: (key: string, value: string) => (value === "true" ? `imgmatch.${key}` : `imgmatch.${key}.${value}`),
} as const;

/**
 * Versions are whole numbers, for systems that compare nothing else: Kubernetes' `Gt` and `Lt`, Nomad's `>=`. They have four parts,
 * up to 8999, then three of up to 9999. More would be beyond what a double holds exactly.
 */
const widths = [8999, 9999, 9999, 9999] as const;

/**
 * `570.124.06` → 570012400060000. Numbers compare as the versions do. A part beyond its width counts as the widest, so that
 * an absurd version is newer than every real one; {@link isExact} says whether no other version has the same number.
 */
export function versionNumber(parts: VersionParts): number {
  return widths.reduce((number, widest, index) => number * 10_000 + Math.min(parts[index] ?? 0, widest), 0);
}

/** The inverse, without the zeros at the end. */
export function versionText(number: number): string {
  const parts: number[] = [];
  for (let rest = number, index = 0; index < widths.length; index++, rest = Math.floor(rest / 10_000))
    parts.unshift(rest % 10_000);
  while (parts.length > 1 && parts.at(-1) === 0) parts.pop();
  return parts.join(".");
}

export function isExact(parts: VersionParts): boolean {
  return parts.length <= widths.length && widths.every((widest, index) => (parts[index] ?? 0) < widest);
}
