/** Every text of a YAML file with its path: what is refused wherever it stands. */

import type { YamlPath } from "../../io/yaml/yaml-places.ts";

/** In the order of the file; a key before what it names, with `isKey`. */
export function* textsIn(
  value: unknown,
  path: YamlPath = [],
): Generator<{ readonly text: string; readonly path: YamlPath; readonly isKey: boolean }> {
  if (typeof value === "string") yield { text: value, path, isKey: false };
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const at = [...path, key];
    if (typeof key === "string") yield { text: key, path: at, isKey: true };
    yield* textsIn(item, at);
  }
}
