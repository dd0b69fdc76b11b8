/** Reads CPU facts from the labels of Node Feature Discovery: the features that labels prove, and the features that labels leave open. */

import { cpuLevel } from "../../hardware/cpu-levels.ts";
import { findMarch, type March, neededFeatures } from "../../hardware/cpu-marches.ts";
import { marchesOfModel } from "../../hardware/cpu-models.ts";
import { powerGenerations } from "../cpu/cpuinfo.ts";
import type { CpuFacts } from "../../facts/facts.ts";
import { isNumber, labelsBelow } from "./cluster-objects.ts";
import type { Labels } from "../../facts/named-host.ts";
import {
  alwaysLabelled,
  blockedByDefault,
  linuxNameOf,
  powerLevels,
  x86LevelLabels,
} from "./cpuid-labels.ts";

export interface LabelledCpu {
  readonly facts: CpuFacts;
  /** null if no label names a feature. */
  readonly source: string | null;
}

const prefix = "feature.node.kubernetes.io/cpu-";

/**
 * Besides labels, other sources may prove `features` (Linux names). With `all` the labels include those that the default configuration of Node
 * Feature Discovery leaves out.
 *
 * @param architecture in OCI words
 */
export function cpuFromLabels(
  labels: Labels,
  architecture: string,
  { all, features: others }: { readonly all: boolean; readonly features: readonly string[] },
): LabelledCpu {
  const names = labelledNames(labels);
  const identity = identify(labels);
  const model = identity === null ? null : `family ${identity.family} model ${identity.model}`;
  const cpu = { vendor: identity?.vendor ?? null, model };
  if (names.length + others.length === 0)
    return { facts: { ...cpu, features: null, level: null }, source: null };
  if (architecture === "ppc64le") return powerCpu(names);

  const labelled = names.flatMap((name) => linuxNameOf(name, architecture) ?? []);
  const levels = names.flatMap((name) =>
    Object.hasOwn(x86LevelLabels, name) ? (x86LevelLabels[name] ?? []) : [],
  );
  const proven = new Set([
    ...labelled,
    // No 64-bit Linux starts on a CPU without these.
    ...(architecture === "amd64" ? featuresOf("x86-64") : []),
    ...levels.flatMap(featuresOf),
    ...others,
  ]);
  const alwaysNamed =
    names.length === 0
      ? []
      : [...alwaysLabelled(architecture, proven), ...(all ? blockedByDefault(architecture) : [])];
  const absent = new Set(alwaysNamed.filter((feature) => !proven.has(feature)));
  const builtIn = identity === null ? [] : featuresByModel(identity, proven, absent);
  const features = [...new Set([...proven, ...builtIn])].sort();
  const unknown = neededFeatures(architecture).filter(
    (feature) => !proven.has(feature) && !builtIn.includes(feature) && !absent.has(feature),
  );
  return {
    facts: {
      ...cpu,
      features,
      ...(unknown.length === 0 ? {} : { unknown }),
      level: cpuLevel(architecture, features),
    },
    source: builtIn.length === 0 ? "node labels" : "node labels + family/model",
  };
}

/** `AVX2` of `feature.node.kubernetes.io/cpu-cpuid.AVX2=true`. */
function labelledNames(labels: Labels): readonly string[] {
  return labelsBelow(labels, `${prefix}cpuid.`).flatMap(([name, value]) => (value === "true" ? name : []));
}

interface Identity {
  readonly vendor: string;
  readonly family: number;
  readonly model: number;
}

/** klauspost/cpuid's names of vendors → `vendor_id` of /proc/cpuinfo. */
const vendors: Readonly<Record<string, string>> = {
  Intel: "GenuineIntel",
  AMD: "AuthenticAMD",
  Hygon: "HygonGenuine",
};

function identify(labels: Labels): Identity | null {
  const [vendor, family, model] = ["vendor_id", "family", "id"].map((key) => labels[`${prefix}model.${key}`]);
  if (vendor === undefined || !isNumber(family) || !isNumber(model)) return null;
  const known = Object.hasOwn(vendors, vendor) ? vendors[vendor] : undefined;
  return { vendor: known ?? vendor, family: Number(family), model: Number(model) };
}

/**
 * The features of the CPU's model, among the features that labels leave open. Such features count only if the labels deny at most one feature
 * of the march: a machine that hides several may hide others. A virtual machine may also hide single features that no level has (rdrand,
 * rdseed), so there the model proves the psABI levels alone.
 */
function featuresByModel(
  { vendor, family, model }: Identity,
  proven: ReadonlySet<string>,
  absent: ReadonlySet<string>,
): readonly string[] {
  const marches = marchesOfModel(vendor, family, model);
  const [first, ...others] = marches;
  if (first === undefined) return [];
  const common = first.features.filter((feature) =>
    others.every((march) => march.features.includes(feature)),
  );
  if (common.filter((feature) => absent.has(feature)).length > 1) return [];
  const virtual = proven.has("hypervisor");
  const levels = virtual ? new Set(psAbiFeatures(first)) : null;
  return common.filter(
    (feature) => !proven.has(feature) && !absent.has(feature) && (levels === null || levels.has(feature)),
  );
}

/** The features of the highest psABI level that a march contains. */
function psAbiFeatures(march: March): readonly string[] {
  const level = cpuLevel("amd64", march.features);
  return level === null ? [] : featuresOf(level);
}

function powerCpu(names: readonly string[]): LabelledCpu {
  const generation = Math.max(
    0,
    ...names.map((name) => (Object.hasOwn(powerLevels, name) ? (powerLevels[name] ?? 0) : 0)),
  );
  const features = [...powerGenerations(generation, names.includes("ALTIVEC"))].sort();
  const facts = { vendor: "IBM", model: null, features, level: cpuLevel("ppc64le", features) };
  return { facts, source: "node labels" };
}

function featuresOf(march: string): readonly string[] {
  return findMarch(march)?.features ?? [];
}
