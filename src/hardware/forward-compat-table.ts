/** NVIDIA's forward-compatibility packages: a newer user-space driver on an older kernel driver. */

import table from "./forward-compat.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface CompatRow {
  readonly package: string;
  readonly cuda: string;
  /** A version of the libcuda inside, as seen in a released package: updates of the package carry newer ones. */
  readonly libcuda: string | null;
  /** Base branches that NVIDIA's matrix supports; null where the matrix has no row. */
  readonly supported: readonly string[] | null;
  /** Branches in the note inside libcuda, which the container toolkit's hook obeys; null where no library was read. */
  readonly enforced: readonly string[] | null;
  /** Branches in NVIDIA_REQUIRE_CUDA of NVIDIA's images of this version, all distributions together. */
  readonly images: readonly string[];
  readonly source: readonly SourceKey[];
}

export const compatRows = readRows<CompatRow>(table.packages);
