/** Prints host facts as canonical JSON. */

import type { HostFacts } from "./facts.ts";
import { checkHostFacts } from "./parse-facts.ts";

/** JSON with its keys in a fixed order, an indent of two blanks, and a final newline. `parseHostFacts` reads it back. */
export function formatHostFacts(facts: HostFacts): string {
  return `${JSON.stringify(canonical(facts), null, 2)}\n`;
}

/** The same on one line. */
export function formatFactsLine(facts: HostFacts): string {
  return `${JSON.stringify(canonical(facts))}\n`;
}

/**
 * The order of the keys is that of the check, which knows every key: a fact that the list lacked would be a compiler error, and not left out.
 */
function canonical(facts: HostFacts): HostFacts {
  return checkHostFacts(facts, { file: "these facts" });
}
