/** The settings of a cell: the settings of its values, and else the settings of the matrix. */

import type { Problem } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import type { Located, Matrix, SettingName, Settings, Value } from "../matrix/matrix.ts";
import { mistake } from "../matrix/matrix-problems.ts";
import { memoizeBy } from "./memoize-by.ts";

/** Texts are templates until `renderCellSettings` has rendered them. */
export interface CellSettings extends Pick<Matrix, SettingName | "args"> {
  /** null for the matrix's. */
  readonly repository: Located<string> | null;
}

/** The repository of the cell's image. */
export function repositoryOfCell(
  { repository }: Pick<Matrix, "repository">,
  { settings }: { readonly settings: CellSettings },
): string {
  return settings.repository?.value ?? repository;
}

/** A value that brings settings: of an axis, or a case of `values:`. */
export interface Bringing extends Pick<Value, "settings" | "at"> {
  /** The axis, or the name under `values:`. */
  readonly axis: string;
  /** null for a case. */
  readonly label: string | null;
}

/** The first value that brings a setting decides; {@link conflictsIn} reports the others. Cells with the same values share the answer. */
export function settingsOf(matrix: Matrix, brought: readonly Bringing[]): CellSettings {
  const { none, several } = merged(matrix);
  if (brought.length === 0) return none;
  const key = brought.map(({ settings }) => numberOf(settings)).join(" ");
  return remember(several, key, () => {
    const settings = merge(matrix, brought);
    conflicts.set(settings, settingConflicts(brought));
    return settings;
  });
}

const merged = memoizeBy((matrix: Matrix) => ({
  none: merge(matrix, []),
  several: new Map<string, CellSettings>(),
}));

let lastNumber = 0;
const numberOf = memoizeBy((_: Settings) => ++lastNumber);

const conflicts = new WeakMap<CellSettings, readonly Problem[]>();

/** Values of one cell that bring different values of the same setting. */
export function conflictsIn(settings: CellSettings): readonly Problem[] {
  return conflicts.get(settings) ?? [];
}

function merge(matrix: Matrix, brought: readonly Bringing[]): CellSettings {
  const { template, target, context, contexts, base, args, runner, timeoutMinutes, freeDisk, guard } = matrix;
  const place = { repository: null, runner, timeoutMinutes, freeDisk, guard };
  const whole = { template, target, context, contexts, base, ...place };
  // Later sources of `Object.assign` win.
  const layers = brought.map(({ settings }) => settings).reverse();
  const given = Object.fromEntries(Object.entries(args).filter(([, argument]) => argument.given));
  const merged = Object.assign({}, args, ...layers.map((settings) => settings.args), given);
  return Object.assign(whole, ...layers, { args: merged });
}

function settingConflicts(brought: readonly Bringing[]): readonly Problem[] {
  const fix =
    "remove the setting from one of the values, exclude the pair, or write the setting under values: with a case for the pair";
  return brought.flatMap((one, index) =>
    brought.slice(index + 1).flatMap((other) => {
      const differ = `${nameOf(one)} and ${nameOf(other)} set different values of`;
      const settings = differing(one.settings, other.settings);
      return settings.map((setting) => mistake(`${differ} ${setting}`, fix, other.at));
    }),
  );
}

function nameOf({ axis, label, at }: Bringing): string {
  return `${label === null ? `values.${axis}` : `${axis} ${label}`} (line ${at.line})`;
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

/** Settings that the matrix writes with another word. */
const wordOf: Readonly<Partial<Record<keyof Settings, string>>> = { timeoutMinutes: "timeout" };
