/** Remembers results that thousands of cells share. */

import type { AccelValue, ComputeValue, MarchValue } from "../matrix/matrix.ts";
import { remember } from "../../io/collections.ts";

/**
 * Makes the result of a value once, and forgets it with the value.
 *
 * @example
 * const flagsOf = memoizeBy((march: MarchValue) => compilerFlags(march));
 */
export function memoizeBy<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { readonly value: Made }>();
  return (key) => remember(made, key, () => ({ value: make(key) })).value;
}

/** As {@link memoizeBy}, for texts. Results live as long as the returned function: create it once per fleet. */
export function memoizeText<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, { readonly value: Made }>();
  return (text) => remember(made, text, () => ({ value: make(text) })).value;
}

/** As {@link memoizeBy}, for the hardware values of a cell together. */
export function memoizeByHardware<Made>(
  make: (march: MarchValue, accel: AccelValue | null, compute: ComputeValue | null) => Made,
): typeof make {
  const made = memoizeBy((march: MarchValue) =>
    memoizeBy((accel: AccelValue | typeof nothing) =>
      memoizeBy((compute: ComputeValue | typeof nothing) =>
        make(march, "kind" in accel ? accel : null, "kind" in compute ? compute : null),
      ),
    ),
  );
  return (march, accel, compute) => made(march)(accel ?? nothing)(compute ?? nothing);
}

const nothing = {};
