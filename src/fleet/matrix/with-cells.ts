/** Writes a matrix of just the wanted cells: its text with more of `exclude`, and another `include`. */

import { isSeq, LineCounter, parseDocument } from "yaml";
import { printable } from "../../printable.ts";
import type { Matrix } from "./matrix.ts";
import { groupBy } from "../../io/collections.ts";
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
 * @param isExcluded tells a cell that the `exclude` of the matrix, which stays, takes away
 */
export function withCells(
  text: string,
  matrix: Matrix,
  cells: readonly CellToHave[],
  isExcluded: (axes: CellToHave["axes"]) => boolean,
): string {
  const document = parseYamlDocument(text, new LineCounter(), () => ({ file: matrix.file }));
  document.delete("include");
  const wanted = cells.filter(({ axes }) => !isOfProduct(axes, matrix) || isExcluded(axes));
  const excluded = [...unwanted(matrix, cells), ...unwantedFree(matrix, cells, isExcluded)].map(
    (rule) => `{ ${rule}, reason: "no host needs it" }`,
  );
  const own = document.get("exclude");
  if (isSeq(own)) for (const rule of excluded) own.add(parseDocument(rule).contents);
  return [
    document.toString({ lineWidth: 0 }).trimEnd(),
    "",
    "# What is left are the cells for the hosts: imgmatch cover --suggest",
    ...cells
      .filter((each) => !wanted.includes(each))
      .map(({ axes, reason }) => `#   ${printable(Object.values(axes).join(" "))}: ${printable(reason)}`),
    ...(excluded.length === 0 || isSeq(own) ? [] : ["exclude:", ...excluded.map((rule) => `  - ${rule}`)]),
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

type Rule = Readonly<Record<string, readonly string[]>>;

/** The `exclude` rules for combinations of free values, on the hardware of the wanted cells. */
function unwantedFree(
  matrix: Matrix,
  cells: readonly CellToHave[],
  isExcluded: (axes: CellToHave["axes"]) => boolean,
): readonly string[] {
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
  const out = new Map(every.map((axes) => [key(axes), axes]));
  const rules = [...out].flatMap(([id, axes]) => (left.has(id) || isExcluded(axes) ? [] : [ruleFor(axes)]));
  const joined = matrix.axes.reduce<readonly Rule[]>((all, { name }) => joinedOn(name, all), rules);
  return joined.map((rule) =>
    ruleOf(
      Object.fromEntries(
        Object.entries(rule).map(([axis, labels]) => [
          axis,
          labels.length === 1 ? (labels[0] ?? "") : labels,
        ]),
      ),
    ),
  );

  function ruleFor(axes: CellToHave["axes"]): Rule {
    const named = matrix.axes.flatMap(({ name, kind }) => {
      const label = axes[name];
      return label === undefined || (kind === "compute" && label === none) ? [] : [[name, [label]] as const];
    });
    return Object.fromEntries(named);
  }
}

/** Rules that differ in this axis alone are one rule with a list. */
function joinedOn(axis: string, rules: readonly Rule[]): readonly Rule[] {
  const alike = groupBy(rules, ({ [axis]: _, ...rest }) => JSON.stringify([axis in rest, rest]));
  return [...alike.values()].flatMap((group) => {
    const labels = group.flatMap((rule) => rule[axis] ?? []);
    const [first] = group;
    return first === undefined ? [] : labels.length === 0 ? group : [{ ...first, [axis]: labels }];
  });
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
