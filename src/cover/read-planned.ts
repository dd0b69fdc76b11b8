/** Reads the matrix whose planned images hosts are compared with. */

import { dirname } from "node:path";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import type { World } from "../io/world.ts";

/** Loads the reader of matrices, which a question about a lock does not need. Throws every mistake of the matrix. */
export async function readPlanned(
  file: string,
  { env }: Pick<World, "env">,
): Promise<{ readonly matrix: Matrix; readonly text: string }> {
  const [{ parseMatrix }, { readMatrixText }, { withVersion }] = await Promise.all([
    import("../fleet/matrix/parse-matrix.ts"),
    import("../fleet/open/open-fleet.ts"),
    import("../fleet/open/find-version.ts"),
  ]);
  const text = await readMatrixText(file);
  const matrix = await withVersion(parseMatrix(text, file, env), { root: dirname(file), env });
  return { matrix, text };
}
