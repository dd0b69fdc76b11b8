/** Packages with code for a GPU of which somebody says whether they work without a GPU: who says it, and since which version. */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import table from "./without-gpu.json" with { type: "json" };

export interface WithoutGpu {
  /** As PyPI normalizes names: `onnxruntime-gpu`. */
  readonly package: string;
  /** The oldest version of which it is known. */
  readonly from: string;
  /** False where a GPU is a requirement of the package. */
  readonly works: boolean;
  readonly says: string;
  /** Its own documentation or code. */
  readonly source: string;
}

export const withoutGpuRows: readonly WithoutGpu[] = table.rows;

/** null for a package of which nobody says either. */
export function findWithoutGpu(name: string, version: string | null): WithoutGpu | null {
  // PyPA specifications, "Names and normalization". A local version is a build of the same: `2.11.0+cu130`.
  const normal = name.toLowerCase().replace(/[-_.]+/g, "-");
  const [number = ""] = /^\d+(?:\.\d+)*/.exec(version ?? "") ?? [];
  const row = withoutGpuRows.find((each) => each.package === normal);
  return row !== undefined && number !== "" && compareVersionTexts(number, row.from) >= 0 ? row : null;
}
