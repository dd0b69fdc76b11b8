/** The sources of a cell's build, and their places: the matrix's settings, and in their place those that the cell's values bring. */

import type { Problem } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import type { Argument, Bases, Located, Matrix, Settings, Value } from "../matrix/matrix.ts";
import { oncePer } from "./once-per.ts";

/** Texts are templates until `settleCells` has rendered them. */
export interface CellSettings {
  readonly template: Located<string>;
  readonly target: Located<string> | null;
  /** null: the template's folder. */
  readonly context: Located<string> | null;
  /** null: the matrix's. Once settled, it is another than that. */
  readonly repository: Located<string> | null;
  readonly base: Located<Bases> | null;
  readonly args: Readonly<Record<string, Argument>>;
  readonly runner: Located<readonly string[]> | null;
  readonly timeoutMinutes: Located<number> | null;
  readonly freeDisk: Located<boolean> | null;
}

/** The repository of the cell's image. */
export function repositoryOfCell(
  { repository }: Pick<Matrix, "repository">,
  { settings }: { readonly settings: CellSettings },
): string {
  return settings.repository?.value ?? repository;
}

/** A value of an axis, or of `values:`, and the name of it. */
export interface Bringing extends Pick<Value, "settings" | "at"> {
  readonly axis: string;
  /** null of a case. */
  readonly label: string | null;
}

/** Of several that bring one setting the first; `settingConflicts` says so. Thousands of cells share what few values bring. */
export function settingsOf(matrix: Matrix, brought: readonly Bringing[]): CellSettings {
  const { none, several } = merged(matrix);
  if (brought.length === 0) return none;
  const key = brought.map(({ settings }) => numberOf(settings)).join(" ");
  return remember(several, key, () => {
    const made = merge(matrix, brought);
    conflicts.set(made, settingConflicts(brought));
    return made;
  });
}

const merged = oncePer((matrix: Matrix) => ({
  none: merge(matrix, []),
  several: new Map<string, CellSettings>(),
}));

let lastNumber = 0;
const numberOf = oncePer((_: Settings) => ++lastNumber);

const conflicts = new WeakMap<CellSettings, readonly Problem[]>();

/** Two values of one cell that set different values of the same setting: neither goes before the other. */
export function conflictsIn(settings: CellSettings): readonly Problem[] {
  return conflicts.get(settings) ?? [];
}

function merge(matrix: Matrix, brought: readonly Bringing[]): CellSettings {
  const own = brought.map(({ settings }) => settings);
  const args = Object.assign({}, ...own.map(({ args: each }) => each).reverse());
  const given = Object.fromEntries(Object.entries(matrix.args).filter(([, argument]) => argument.given));
  const first = <Name extends keyof Settings>(name: Name) =>
    own.find((settings) => settings[name] !== undefined)?.[name] ?? null;
  return {
    template: first("template") ?? matrix.template,
    target: first("target") ?? matrix.target,
    context: first("context") ?? matrix.context,
    repository: first("repository"),
    base: first("base") ?? matrix.base,
    args: { ...matrix.args, ...args, ...given },
    runner: first("runner") ?? matrix.runner,
    timeoutMinutes: first("timeoutMinutes") ?? matrix.timeoutMinutes,
    freeDisk: first("freeDisk") ?? matrix.freeDisk,
  };
}

function settingConflicts(brought: readonly Bringing[]): readonly Problem[] {
  return brought.flatMap((one, index) =>
    brought.slice(index + 1).flatMap((other) =>
      differing(one.settings, other.settings).map(
        (setting): Problem => ({
          code: "MATRIX_SCHEMA",
          message: `${nameOf(one)} (line ${one.at.line}) and ${nameOf(other)} (line ${other.at.line}) set different values of ${setting}`,
          fix: "remove it from one of them, exclude the pair, or set it under values: with a case for the pair",
          at: other.at,
        }),
      ),
    ),
  );
}

function nameOf({ axis, label }: Bringing): string {
  return label === null ? `values.${axis}` : `${axis} ${label}`;
}

function differing(
  { args: ones = {}, ...one }: Settings,
  { args: others = {}, ...other }: Settings,
): string[] {
  const differ = (a: Located<unknown> | undefined, b: Located<unknown> | undefined) =>
    a !== undefined && b !== undefined && JSON.stringify(a.value) !== JSON.stringify(b.value);
  const names = Object.keys(one) as (keyof typeof one)[];
  return [
    ...names.filter((name) => differ(one[name], other[name])).map((name) => wordOf[name] ?? name),
    ...Object.keys(ones)
      .filter((name) => differ(ones[name], others[name]))
      .map((name) => `args.${name}`),
  ];
}

/** As the file writes it, where that is another word. */
const wordOf: Readonly<Partial<Record<keyof Settings, string>>> = { timeoutMinutes: "timeout" };
