/** The packages with code for a GPU that work without a GPU, as somebody says: who says it, and since which version. */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import table from "./without-gpu.json" with { type: "json" };

export interface WorksWithoutGpu {
  /** As PyPI normalizes names: `onnxruntime-gpu`. */
  readonly package: string;
  /** The oldest version of which it is known. */
  readonly from: string;
  readonly says: string;
  /** Its own documentation or code. */
  readonly source: string;
}

export const worksWithoutGpu: readonly WorksWithoutGpu[] = table.rows;

/** null for a package of which nobody says so. */
export function findWorksWithoutGpu(name: string, version: string | null): WorksWithoutGpu | null {
  // PyPA specifications, "Names and normalization". A local version is a build of the same: `2.11.0+cu130`.
  const normal = name.toLowerCase().replace(/[-_.]+/g, "-");
  const [number = ""] = /^\d+(?:\.\d+)*/.exec(version ?? "") ?? [];
  const row = worksWithoutGpu.find((each) => each.package === normal);
  return row !== undefined && number !== "" && compareVersionTexts(number, row.from) >= 0 ? row : null;
}
