/** The repository's own matrix, and the fleet that it plans. */

import { readFileSync } from "node:fs";
import { plannedFleet } from "../../../src/cover/cover-fleet.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";

export const text = readFileSync("matrix.yaml", "utf8");
export const matrix = parseMatrix(text, "matrix.yaml");
export const demo = plannedFleet(matrix);
