/** Texts and folders of a Compose file, which a stack file of a swarm is too. */

import type { Json, Mount } from "./target.ts";

/** `$` begins a variable in a Compose file, `$$` is the sign itself (Compose Specification, "Interpolation"). */
export function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

export function literals(texts: Readonly<Record<string, string>>): { readonly [key: string]: string } {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, literal(text)]));
}

export function boundFolder({ source, target, readOnly }: Mount): Json {
  const folder = { type: "bind", source: literal(source), target: literal(target) };
  return readOnly ? { ...folder, read_only: true } : folder;
}
