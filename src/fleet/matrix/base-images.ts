/** Base images of a matrix: references, and cells of other fleets (`base: { fleet: ../base/matrix.yaml, pin: { flavor: devel } }`). */

import type { Problem } from "../../errors.ts";
import { sortedEntries } from "../../io/collections.ts";
import { isRecord } from "../../io/json.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import type { Bases, ParentFleet } from "./matrix.ts";
import { mistake, referenceProblems } from "./matrix-problems.ts";
import type { BaseInput, ParentInput } from "./value-schemas.ts";

export function parseBases(input: BaseInput): Bases {
  const textOf = (base: string | ParentInput) => (typeof base === "string" ? base : parentName(base));
  if (typeof input === "string" || isParent(input)) return { "": textOf(input) };
  return Object.fromEntries(Object.entries(input).map(([stage, base]) => [stage, textOf(base)]));
}

/** The mistakes in the base images at a path. A template is checked where it is rendered. */
export function baseProblems(input: BaseInput | undefined, source: YamlSource, path: YamlPath): Problem[] {
  if (input === undefined || isParent(input)) return [];
  const problemsOf = (base: string | ParentInput, at: YamlPath) =>
    typeof base !== "string" || base.includes("{{") ? [] : referenceProblems(base, source.placeOf(at));
  if (typeof input === "string") return problemsOf(input, path);
  const stages = Object.entries(input);
  if (stages.length > 0) return stages.flatMap(([stage, base]) => problemsOf(base, [...path, stage]));
  const fix = "write base: debian:bookworm-slim, or one reference per stage";
  return [mistake("base names no image", fix, source.placeOf(path))];
}

/** All parents that the matrix or a value of it names, by {@link parentName}. The schema has checked their shape. */
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
      for (const [stage, base] of Object.entries(item)) add(base, [...at, stage]);
    }
  };
  walk(source.data, []);
  return found;
}

function isParent(input: unknown): input is ParentInput {
  if (!isRecord(input) || typeof input.fleet !== "string") return false;
  return Object.keys(input).every((key) => key === "fleet" || (key === "pin" && isRecord(input.pin)));
}

/** The text that stands for a parent among base images. It has a space, which no reference has. */
function parentName({ fleet, pin = {} }: ParentInput): string {
  return [`fleet ${fleet}`, ...sortedEntries(pin).map(([axis, label]) => `${axis}=${label}`)].join(" ");
}
