/** Writes a matrix of just the wanted cells: its text with another `exclude` and `include`. */

import { LineCounter } from "yaml";
import { printable } from "../../printable.ts";
import type { Matrix } from "./matrix.ts";
import { none, vendorOf } from "./values.ts";
import { parseYamlDocument } from "../../io/yaml/yaml-document.ts";

export interface CellToHave {
  /** Axis → label. */
  readonly axes: Readonly<Record<string, string>>;
  /** Written as a comment above the cell. */
  readonly reason: string;
}

/**
 * Excludes unwanted cells of the product, and includes wanted cells that are no part of the product. A label that no axis has is written as a
 * new value.
 *
 * @param text the text of `matrix`
 */
export function withCells(text: string, matrix: Matrix, cells: readonly CellToHave[]): string {
  const document = parseYamlDocument(text, new LineCounter(), () => ({ file: matrix.file }));
  document.delete("exclude");
  document.delete("include");
  const wanted = cells.filter(({ axes }) => !isOfProduct(axes, matrix));
  const excluded = [...unwanted(matrix, cells), ...unwantedFree(matrix, cells)];
  return [
    document.toString({ lineWidth: 0 }).trimEnd(),
    "",
    "# The cells that are left are those that hosts need: imgmatch cover --suggest",
    ...cells
      .filter((each) => !wanted.includes(each))
      .map(({ axes, reason }) => `#   ${printable(Object.values(axes).join(" "))}: ${printable(reason)}`),
    ...(excluded.length === 0
      ? []
      : ["exclude:", ...excluded.map((rule) => `  - { ${rule}, reason: "no host needs it" }`)]),
    ...(wanted.length === 0 ? [] : ["", "include:"]),
    ...wanted.flatMap(({ axes, reason }) => [
      `  # ${printable(reason)}`,
      `  - { ${valuesOf(axes, matrix)} }`,
    ]),
    "",
  ].join("\n");
}

function isOfProduct(axes: CellToHave["axes"], matrix: Matrix): boolean {
  return matrix.axes.every(({ name, kind, values }) => {
    const label = axes[name] ?? none;
    return values.some((value) => value.label === label) || (kind === "compute" && label === none);
  });
}

/** The `exclude` rules for hardware: for each accelerator the marches, and for each march the compute capabilities, that no cell has. */
function unwanted({ axes }: Matrix, cells: readonly CellToHave[]): readonly string[] {
  const accels = axes.find((axis) => axis.kind === "accel");
  const computes = axes.find((axis) => axis.kind === "compute")?.values ?? [];
  const labelsOf = (axis: string) =>
    axes.filter(({ name }) => name === axis).flatMap(({ values }) => values.map(({ label }) => label));
  const marches = labelsOf("march");
  const has = (wanted: Readonly<Record<string, string>>) =>
    cells.some((cell) => Object.entries(wanted).every(([axis, label]) => cell.axes[axis] === label));
  return (accels?.values ?? [null]).flatMap((value) => {
    const row: Readonly<Record<string, string>> =
      accels === undefined || value === null ? {} : { [accels.name]: value.label };
    if (!has(row)) return [ruleOf(row)];
    const idle = marches.filter((march) => !has({ ...row, march }));
    const rows = marches.filter((march) => !idle.includes(march));
    const vendor = value === null ? null : vendorOf(value);
    const labels = computes.filter((compute) => compute.vendor === vendor).map(({ label }) => label);
    return [
      ...(idle.length === 0 ? [] : [ruleOf({ ...row, march: idle })]),
      ...rows.flatMap((march) => {
        const out = labels.filter((compute) => !has({ ...row, march, compute }));
        return out.length === 0 ? [] : [ruleOf({ ...row, march, compute: out })];
      }),
    ];
  });
}

/** The `exclude` rules for combinations of free values, on the hardware of the wanted cells. */
function unwantedFree(matrix: Matrix, cells: readonly CellToHave[]): readonly string[] {
  const key = (axes: CellToHave["axes"]) => JSON.stringify(matrix.axes.map(({ name }) => axes[name] ?? none));
  const left = new Set(cells.map(({ axes }) => key(axes)));
  const every = cells
    .filter(({ axes }) => isOfProduct(axes, matrix))
    .flatMap(({ axes }) =>
      matrix.axes.reduce<readonly CellToHave["axes"][]>(
        (all, { kind, name, values }) =>
          kind === "free"
            ? all.flatMap((each) => values.map(({ label }) => ({ ...each, [name]: label })))
            : all,
        [axes],
      ),
    );
  const rules = every.filter((axes) => !left.has(key(axes))).map((axes) => valuesOf(axes, matrix));
  return [...new Set(rules)];
}

function ruleOf(match: Readonly<Record<string, string | readonly string[]>>): string {
  return Object.entries(match)
    .map(([axis, labels]) => `${axis}: ${JSON.stringify(labels)}`)
    .join(", ");
}

function valuesOf(axes: CellToHave["axes"], matrix: Matrix): string {
  return matrix.axes
    .flatMap(({ name, kind, values }) => {
      const label = axes[name];
      if (label === undefined || (kind === "compute" && label === none)) return [];
      const listed = values.some((value) => value.label === label);
      // `8.6+8.9` is the label of a list, `9.0+ptx` is one target.
      const parts = kind === "compute" && !listed ? label.split(/\+(?!ptx)/) : [label];
      return [`${name}: ${JSON.stringify(parts.length === 1 ? label : parts)}`];
    })
    .join(", ");
}
