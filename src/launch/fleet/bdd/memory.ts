/** What was computed of two keys is not computed again, and what grows beyond all use ends in words. */

import { remember } from "../../../oci/remember.ts";
import { unsupported } from "../../unsupported.ts";

/** What is known of two keys, else what `make` makes of them. */
export function rememberPair<K, L, V>(known: Map<K, Map<L, V>>, key: K, other: L, make: () => V): V {
  return remember(
    remember(known, key, () => new Map<L, V>()),
    other,
    make,
  );
}

export function tooLarge(): Error {
  return unsupported("a fleet", "tell so many images apart", "fix the axes that no node decides with --pin");
}
