/**
 * Tells whether an installer takes a variant wheel on a host, by the host's facts: of every feature the host needs one value (PEP 825).
 *
 * PEP 825 leaves the properties to their providers, whose answers these rows give: provider-variant-x86-64 and -aarch64 0.0.1.post2,
 * wheelnext/nvidia-variant-provider, rocm-bootstrap 0.3.0. Whether the wheel's code runs, its files decide.
 */

import type { HostFacts } from "../facts/facts.ts";
import { allMarches, type March } from "../hardware/cpu-marches.ts";
import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import { levelProperties, linuxName, type WheelVariant } from "../inspect/claims/wheel-variant.ts";
import { type SystemFit, variantMismatch } from "../inspect/system-needs.ts";
import { once } from "../io/collections.ts";
import { nvidiaProperties, type VariantProperty } from "./nvidia-properties.ts";

type Rows = Readonly<Record<string, VariantProperty>>;

/** Rows of one architecture: no other takes any of its values. */
function forArchitecture(namespace: string, architecture: string) {
  const level = ({ platform, cpu }: HostFacts) => {
    const model = cpu.model === null ? "" : ` (${cpu.model})`;
    return `${isOwn({ platform }) ? (cpu.level ?? "a CPU of no known level") : platform}${model}`;
  };
  const isOwn = ({ platform }: Pick<HostFacts, "platform">) => platform.split("/")[1] === architecture;
  const onlyHere = (takes: VariantProperty["takes"]): VariantProperty => ({
    takes: (value, host) => isOwn(host) && takes(value, host),
    has: level,
  });
  return (feature: string): VariantProperty | null => {
    const levelOf = levelProperties.get(`${namespace} :: ${feature}`);
    if (levelOf !== undefined) return onlyHere((value, host) => hasMarch(levelOf(value), host));
    const name = linuxName(feature);
    return onlyHere((value, host) => (value === "on" ? hasFeature(host, name) : null));
  };
}

/** A feature that the tables do not have may go by another name in Linux. */
function hasFeature({ cpu }: HostFacts, name: string): boolean | null {
  if (cpu.features === null || cpu.features.length === 0) return null;
  if (cpu.features.includes(name)) return true;
  return cpu.unknown?.includes(name) || !knownFeatures().has(name) ? null : false;
}

const knownFeatures = once(
  () => new Set(allMarches().flatMap(({ required, optional }) => [...required, ...optional])),
);

function hasMarch(march: March | null, { cpu }: HostFacts): boolean | null {
  if (march === null || cpu.features === null || cpu.features.length === 0) return null;
  const lacking = march.features.filter((feature) => !cpu.features?.includes(feature));
  if (lacking.length === 0) return true;
  return lacking.every((feature) => cpu.unknown?.includes(feature)) ? null : false;
}

const gpuRows: Readonly<Record<GpuVendor, Rows>> = {
  nvidia: nvidiaProperties,
  amd: {
    gfx_arch: {
      takes(value, { amd }) {
        if (amd === null) return false;
        if (amd === undefined || amd.unknown?.includes("gpus") || !/^gfx[0-9a-f]+$/.test(value)) return null;
        const targets = amd.gpus.map(({ target }) => target);
        return targets.includes(value) || (targets.includes(null) ? null : false);
      },
      has: ({ amd }) => amd?.gpus.map(({ target }) => target ?? "an unknown GPU").join(", ") || "no AMD GPU",
    },
  },
};

const rowOf =
  (rows: Rows) =>
  (feature: string): VariantProperty | null =>
    Object.hasOwn(rows, feature) ? (rows[feature] ?? null) : null;

const namespaces: ReadonlyMap<string, (feature: string) => VariantProperty | null> = new Map([
  ["x86_64", forArchitecture("x86_64", "amd64")],
  ["aarch64", forArchitecture("aarch64", "arm64")],
  ...Object.entries(gpuRows).map(([vendor, rows]) => [vendor, rowOf(rows)] as const),
]);

export function judgeVariant(
  variant: WheelVariant | null,
  host: HostFacts,
): Pick<SystemFit, "reasons" | "unknown"> {
  if (variant === null) return { reasons: [], unknown: [] };
  const { label, features, why } = variant;
  const open = (because: string) => `whether its variant ${label} is for this host: ${because}`;
  if (features === null) return { reasons: [], unknown: [open(why)] };
  const reasons: SystemFit["reasons"][number][] = [];
  const unknown: string[] = [];
  for (const { name, values } of features) {
    const [namespace = "", feature = ""] = name.split(" :: ");
    const row = namespaces.get(namespace)?.(feature) ?? null;
    const taken = values.map((value) => row?.takes(value, host) ?? null);
    if (taken.includes(true)) continue;
    const asked = `${name} :: ${values.join(" or ")}`;
    if (row === null || taken.includes(null)) unknown.push(open(`${asked} is not known`));
    else
      reasons.push({
        code: variantMismatch,
        message: `is the variant ${label} for ${asked}, this host has ${row.has(host)}`,
        fix: "take the wheel of another variant; the variant null is for every host",
        file: null,
      });
  }
  return { reasons, unknown };
}
