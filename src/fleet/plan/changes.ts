/** Compares the inputs of a cell with the inputs of its image. */

import { firstOf } from "../../io/table.ts";
import type { LockedImage, LockedInputs } from "../../lock/lock.ts";
import type { ContextEntry } from "../context/context.ts";
import type { ChangedFiles, InputComparison, InputName, PlannedBase, PlannedCell } from "./planned-cell.ts";

export interface CurrentInputs extends LockedInputs {
  readonly platform: string;
  readonly bases: readonly PlannedBase[];
}

/** Compares every input with the lock's, in a fixed order. */
export function compareInputs(locked: LockedImage | null, now: CurrentInputs): InputComparison[] {
  const then = locked?.inputs;
  const compare = (input: InputName, was: string | null | undefined, is: string | null): InputComparison => ({
    input,
    name: null,
    was: was ?? null,
    is,
    changed: was === undefined ? null : was !== is,
  });
  const bases = now.bases.map(({ used, digest }) => [used, digest] as const);
  const builtOn = locked?.bases.map(({ ref, digest }) => [ref, digest] as const);
  return [
    compare("dockerfile", then?.dockerfile, now.dockerfile),
    compare("context", then?.context, now.context),
    ...compareNamed("args", then && Object.entries(then.args), Object.entries(now.args)),
    compare("target", then?.target, now.target),
    compare("platform", locked?.platform, now.platform),
    ...compareNamed("bases", builtOn, bases),
    compare("builder", then?.builder, now.builder),
    ...(then?.rebuild === undefined && now.rebuild === undefined
      ? []
      : [compare("rebuild", then === undefined ? undefined : (then.rebuild ?? null), now.rebuild ?? null)]),
  ];
}

/** `context (app.py), base debian:12`: the inputs that are known to have changed, on one line. */
export function describeChanges(
  changes: readonly InputComparison[],
  files: ChangedFiles | undefined,
): string {
  const singular: Partial<Record<InputName, string>> = { args: "argument", bases: "base" };
  const paths = files === undefined ? [] : [...files.changed, ...files.added, ...files.removed];
  const inContext = paths.length === 0 ? "" : ` (${firstOf(paths, 3)})`;
  return changes
    .filter(({ changed }) => changed === true)
    .map(({ input, name }) => {
      if (input === "context") return `context${inContext}`;
      return name === null ? input : `${singular[input] ?? input} ${name}`;
    })
    .join(", ");
}

type Values = readonly (readonly [name: string, value: string | null])[];

/** @param then undefined if the lock does not have them */
function compareNamed(input: InputName, then: Values | undefined, now: Values): InputComparison[] {
  if (then === undefined) return now.map(([name, is]) => ({ input, name, was: null, is, changed: null }));
  const [before, after] = [new Map(then), new Map(now)];
  return [...new Set([...before.keys(), ...after.keys()])].sort().map((name) => {
    const [was, is] = [before.get(name) ?? null, after.get(name) ?? null];
    return { input, name, was, is, changed: was !== is };
  });
}

/** Every input of a planned cell; empty for an impossible or excluded cell. `changed` is null if the lock does not have the input. */
export function explainInputs({
  cell,
  locked,
  inputs,
  bases,
}: Pick<PlannedCell, "cell" | "locked" | "inputs" | "bases">): InputComparison[] {
  return inputs === null ? [] : compareInputs(locked, { ...inputs, bases, platform: cell.platform });
}

type ContextFile = Omit<ContextEntry, "size">;

/** @param then sorted by path, as `now` */
export function changedFiles(then: readonly ContextFile[], now: readonly ContextFile[]): ChangedFiles {
  const before = new Map(then.map((file) => [file.path, file]));
  const after = new Set(now.map(({ path }) => path));
  const paths = (files: readonly ContextFile[]) => files.map(({ path }) => path);
  return {
    added: paths(now.filter(({ path }) => !before.has(path))),
    changed: paths(now.filter((file) => differs(before.get(file.path) ?? file, file))),
    removed: paths(then.filter(({ path }) => !after.has(path))),
  };
}

function differs(one: ContextFile, other: ContextFile): boolean {
  return one.kind !== other.kind || one.mode !== other.mode || one.content !== other.content;
}
