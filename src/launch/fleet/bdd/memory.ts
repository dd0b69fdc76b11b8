/** What was computed once is not computed again, and what grows beyond all use ends in words. */

import { unsupported } from "../../unsupported.ts";

/** What is known of two keys, else what `make` makes of them. */
export function rememberPair<K, L, V>(known: Map<K, Map<L, V>>, key: K, other: L, make: () => V): V {
  let inner = known.get(key);
  if (inner === undefined) {
    inner = new Map<L, V>();
    known.set(key, inner);
  }
  const found = inner.get(other);
  if (found !== undefined) return found;
  const made = make();
  inner.set(other, made);
  return made;
}

export function tooLarge(): Error {
  return unsupported("a fleet", "tell so many images apart", "fix the axes that no node decides with --pin");
}
