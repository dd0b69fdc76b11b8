/** The images of a plan that a registry has already. */

import type { Digest } from "../../oci/digest.ts";
import type { Plan } from "./planned-cell.ts";

/** The images that the plan keeps, each once. */
export function publishedDigests({ cells }: Plan): readonly Digest[] {
  const kept = cells.flatMap(({ action, locked }) =>
    action === "keep" && locked?.digest ? [locked.digest] : [],
  );
  return [...new Set(kept)];
}
