/** Bases that are cells of other fleets: `base: { fleet: ../base/matrix.yaml, pin: { flavor: devel } }`. */

import { isRecord } from "../../io/json.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { sortedEntries } from "../../io/collections.ts";
import type { ParentInput } from "./matrix-schema.ts";
import type { ParentFleet } from "./matrix.ts";

export function isParent(input: unknown): input is ParentInput {
  if (!isRecord(input) || typeof input.fleet !== "string") return false;
  return Object.keys(input).every((key) => key === "fleet" || (key === "pin" && isRecord(input.pin)));
}

/** The text that stands for it among base images. No reference has a space in it. */
export function parentName({ fleet, pin = {} }: ParentInput): string {
  return [`fleet ${fleet}`, ...sortedEntries(pin).map(([axis, label]) => `${axis}=${label}`)].join(" ");
}

/** All that a matrix names, whichever value brings them, by {@link parentName}. Its shape is checked already. */
export function findParents(source: YamlSource): Readonly<Record<string, ParentFleet>> {
  const found: Record<string, ParentFleet> = {};
  const add = (input: unknown, path: YamlPath): void => {
    if (!isParent(input)) return;
    found[parentName(input)] ??= {
      file: { value: input.fleet, at: source.placeOf([...path, "fleet"]) },
      pin: input.pin ?? {},
    };
  };
  const walk = (value: unknown, path: YamlPath): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      const at = [...path, key];
      walk(item, at);
      if (key !== "base" || !isRecord(item)) continue;
      add(item, at);
      for (const [stage, each] of Object.entries(item)) add(each, [...at, stage]);
    }
  };
  walk(source.data, []);
  return found;
}
