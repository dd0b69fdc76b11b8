/** The variant of a wheel: the label in its name, and the properties in its `variant.json` (PEP 825). */

import { basename } from "node:path";
import { findMarch, type March } from "../../hardware/cpu-marches.ts";
import type { ClaimFile, VariantFeature } from "./claim-files.ts";

export interface WheelVariant {
  readonly label: string;
  /** null where nobody knows, for the reason `why`. */
  readonly features: readonly VariantFeature[] | null;
  readonly why: string;
}

/** The march that a property of a CPU's level names by its value: `v3`, `8.2a`. null for a value that names none. */
export const levelProperties: ReadonlyMap<string, (value: string) => March | null> = new Map([
  [
    "x86_64 :: level",
    (value: string) => (/^v[1-4]$/.test(value) ? findMarch(`x86-64-${value}`.replace("-v1", "")) : null),
  ],
  [
    "aarch64 :: version",
    (value: string) => {
      const [, version] = /^(\d+(?:\.[1-9]\d?)?)(?:\.0)?a$/.exec(value) ?? [];
      return version === undefined ? null : findMarch(`armv${version}-a`);
    },
  ],
]);

/** Linux's name of a CPU's feature, which a property has by the providers' name. */
export function linuxName(feature: string): string {
  return feature === "sse3" ? "pni" : feature;
}

/** The variant without properties, which every host takes. */
const forAll = "null";

/** @param label of the wheel's name; null without one */
export function wheelVariant(
  subject: string,
  label: string | null,
  claims: ReadonlyMap<string, ClaimFile>,
): WheelVariant | null {
  const inside = `/${basename(subject)}!/`;
  const found = [...claims].flatMap(([path, claim]) => {
    const isOwn = path.startsWith(inside) && /^[^/]+\/variant\.json$/.test(path.slice(inside.length));
    return isOwn && (claim.kind === "variant" || claim.kind === "unread") ? [claim] : [];
  });
  const [claim] = found;
  if (label === null && claim === undefined) return null;
  const unknown = (why: string): WheelVariant => ({ label: label ?? forAll, features: null, why });
  if (label === null) return unknown("its name has no label, and it holds a variant.json");
  if (claim === undefined) return label === forAll ? null : unknown("it holds no variant.json");
  if (found.length > 1) return unknown("it holds several variant.json");
  if (claim.kind === "unread") return unknown(`its variant.json is not understood: ${claim.reason}`);
  if (claim.label !== label) return unknown(`its variant.json is of the variant ${claim.label}`);
  const { features } = claim;
  if (label === forAll)
    return features.length === 0
      ? null
      : unknown("its variant.json has properties, and that variant has none");
  return { label, features, why: "" };
}
