/** Small matrices for tests, as text: what a test is about stands in `rest`. */

import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import type { Cell } from "../../src/fleet/cells/cell.ts";
import { type ExpandedCell, expandMatrix } from "../../src/fleet/cells/expand.ts";

/** `rest` may override a line of the head by its key. */
export function matrixText(rest: string): string {
  const head = {
    name: "app",
    version: '"1.0"',
    registry: "registry.example.com/team",
    template: "templates/app.Dockerfile.hbs",
    base: "debian:bookworm-slim",
  };
  const lines = Object.entries(head).filter(([key]) => !new RegExp(`^${key}:`, "m").test(rest));
  return `${lines.map(([key, value]) => `${key}: ${value}\n`).join("")}${rest}\n`;
}

export function expand(rest: string): ExpandedCell[] {
  return expandMatrix(parseMatrix(matrixText(rest), "matrix.yaml"));
}

/** Cells by id. */
export function cellsOf(rest: string): Readonly<Record<string, Cell>> {
  return Object.fromEntries(expand(rest).map(({ cell }) => [cell.id, cell]));
}

/** A CUDA entry in flow form: `{ toolkit: "12.8.1", base: … }`. */
export function cudaEntry(toolkit: string, more = ""): string {
  return `{ toolkit: "${toolkit}", base: "nvidia/cuda:${toolkit}-base-ubuntu22.04"${more === "" ? "" : `, ${more}`} }`;
}
