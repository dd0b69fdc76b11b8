/** The labels in which a node describes itself, and their names in each system. */

import { createHash } from "node:crypto";
import { allMarches } from "../../../hardware/cpu-marches.ts";
import type { VersionParts } from "../../../hardware/driver-version.ts";
import { ownPrefix } from "../../../host/kubernetes/cluster-objects.ts";
import { once } from "../../../io/collections.ts";

/** The compute capabilities that each version of the vocabulary adds. New ones get a new row: a row never changes. */
export const knownComputes = [
  // biome-ignore format: in the order of the devices
  [
    "2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5",
    "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.1", "10.3", "10.7", "11.0", "12.0", "12.1",
  ],
] as const satisfies readonly (readonly string[])[];

export const unknownValue = "unknown";

/** A label without a value is left out. */
export type LabelValues = Readonly<Record<string, string | null | undefined>>;

export function mark(holds: boolean): string | null {
  return holds ? "true" : null;
}

/** The keys, without a system's prefix. */
export const keys = {
  /** The version that describes this node completely; `none` if no version does. */
  vocabulary: "vocabulary",
  platform: "platform",
  /** `true` if the host is broken to resolve. */
  broken: "broken",
  /** `true` if a fact about GPUs or driver is unknown. */
  gpuUnknown: "gpu.unknown",
  cpuLevel: "cpu-level",
  march: (name: string) => `march.${name}`,
  feature: (name: string) => `cpu.${name}`,
  kernel: "kernel",
  kernelNumber: "kernel-number",
  driver: "driver",
  driverNumber: "driver-number",
  /** `linux`, `wsl` or `l4t`: the scale of the driver's version. */
  driverScale: "driver-scale",
  cuda: "cuda",
  cudaNumber: "cuda-number",
  runtime: "runtime",
  gpuCount: "gpu.count",
  gpuProduct: "gpu.product",
  /** `true` if there is a GPU and a driver drives every visible one. */
  gpuUsable: "gpu.usable",
  compute: (compute: string) => `gpu.compute.${compute}`,
  mig: (profile: string) => `gpu.mig.${profile}`,
} as const;

/**
 * Text as the value of a Kubernetes label: at most 63 of `[A-Za-z0-9_.-]`, letters or digits at the ends. A changed or cut text gets a hash, so
 * that different texts stay different.
 */
export function labelValue(text: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(text)) return text;
  const start = text
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 50);
  return `${start}${start === "" ? "" : "."}${shortHash(text, 10)}`;
}

/** So many hexadecimal digits of the text's sha256. */
export function shortHash(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

export function platformValue(platform: string): string {
  return platform.replaceAll("/", "-");
}

/** The features that some march needs: no image needs the other hundred names of /proc/cpuinfo. */
export const labelledFeatures = once(
  (): ReadonlySet<string> => new Set(allMarches().flatMap(({ features }) => features)),
);

/** The name of a label in each system. */
export const labelNames = {
  kubernetes: (key: string) => `${ownPrefix}${key}`,
  docker: (key: string) => `imgmatch.${key}`,
  /** Attributes are text of [a-zA-Z0-9_/.-] (Mesos, "Attributes and Resources"). */
  mesos: (key: string) => `imgmatch.${key}`,
  /** Nomad reads `${meta.…}` as an expression, in which a dot and a hyphen are operators. */
  nomad: (key: string) => `imgmatch_${key.replace(/[^A-Za-z0-9]/g, "_")}`,
  /** Features have no values: the value becomes part of the name. */
  slurm: (key: string, value: string) => (value === "true" ? `imgmatch.${key}` : `imgmatch.${key}.${value}`),
} as const;

/**
 * The largest values of a version's four parts. Kubernetes' `Gt` and `Lt` and Nomad's `>=` compare only whole numbers, so a version is one. A
 * double holds it exactly.
 */
const widths = [8999, 9999, 9999, 9999] as const;

/**
 * `570.124.06` → 570012400060000. Numbers compare as versions do. A part over the largest value counts as the largest value, so an absurd
 * version is newer than every real version.
 */
export function versionNumber(parts: VersionParts): number {
  return widths.reduce((number, widest, index) => number * 10_000 + Math.min(parts[index] ?? 0, widest), 0);
}

/** 0 for an unknown version. */
export function numberOf(version: { readonly parts: VersionParts } | null): string {
  return String(version === null ? 0 : versionNumber(version.parts));
}

/** The inverse of {@link versionNumber}, without zeros at the end. */
export function versionText(number: number): string {
  const parts: number[] = [];
  for (let rest = number, index = 0; index < widths.length; index++, rest = Math.floor(rest / 10_000))
    parts.unshift(rest % 10_000);
  while (parts.length > 1 && parts.at(-1) === 0) parts.pop();
  return parts.join(".");
}
