/** Remembers results that thousands of cells share. */

import type { AccelValue, ComputeValue, MarchValue } from "../matrix/matrix.ts";
import { remember } from "../../io/collections.ts";

/**
 * Makes the result of a value once, and forgets it with the value.
 *
 * @example
 * const flagsOf = oncePer((march: MarchValue) => compilerFlags(march));
 */
export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { readonly value: Made }>();
  return (key) => remember(made, key, () => ({ value: make(key) })).value;
}

/** As {@link oncePer}, for texts. Results live as long as the returned function: create it once per fleet. */
export function oncePerText<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, { readonly value: Made }>();
  return (text) => remember(made, text, () => ({ value: make(text) })).value;
}

/** As {@link oncePer}, for the hardware values of a cell together. */
export function oncePerHardware<Made>(
  make: (march: MarchValue, accel: AccelValue | null, compute: ComputeValue | null) => Made,
): typeof make {
  const made = oncePer((march: MarchValue) =>
    oncePer((accel: AccelValue | typeof nothing) =>
      oncePer((compute: ComputeValue | typeof nothing) =>
        make(march, "kind" in accel ? accel : null, "kind" in compute ? compute : null),
      ),
    ),
  );
  return (march, accel, compute) => made(march)(accel ?? nothing)(compute ?? nothing);
}

const nothing = {};
