/** The changes since an image was built, input by input. */

import type { LockedImage, LockedInputs } from "../../lock/lock.ts";
import type { InputComparison, InputName, PlannedBase, PlannedCell } from "./planned-cell.ts";

export interface CurrentInputs extends LockedInputs {
  readonly platform: string;
  readonly bases: readonly PlannedBase[];
}

/** Every input of a cell beside what the lock says of it, in a fixed order. */
export function compareInputs(locked: LockedImage, now: CurrentInputs): InputComparison[] {
  const then = locked.inputs;
  const compare = (input: InputName, was: string | null | undefined, is: string | null): InputComparison => ({
    input,
    name: null,
    was: was ?? null,
    is,
    changed: was === undefined ? null : was !== is,
  });
  return [
    compare("dockerfile", then?.dockerfile, now.dockerfile),
    compare("context", then?.context, now.context),
    ...compareNamed("args", then?.args ?? null, now.args),
    compare("target", then?.target, now.target),
    compare("platform", locked.platform, now.platform),
    ...compareNamed(
      "bases",
      Object.fromEntries(locked.bases.map(({ ref, digest }) => [ref, digest])),
      Object.fromEntries(now.bases.map(({ used, digest }) => [used, digest])),
    ),
    compare("builder", then?.builder, now.builder),
    ...(then?.rebuild === undefined && now.rebuild === undefined
      ? []
      : [compare("rebuild", then === undefined ? undefined : (then.rebuild ?? null), now.rebuild ?? null)]),
  ];
}

/** `dockerfile, base debian:12`: what is known to have changed, for one line. */
export function describeChanges(changes: readonly InputComparison[]): string {
  const singular: Partial<Record<InputName, string>> = { args: "argument", bases: "base" };
  return changes
    .filter(({ changed }) => changed === true)
    .map(({ input, name }) => (name === null ? input : `${singular[input] ?? input} ${name}`))
    .join(", ");
}

function compareNamed(
  input: InputName,
  then: Readonly<Record<string, string>> | null,
  now: Readonly<Record<string, string | null>>,
): InputComparison[] {
  return [...new Set([...Object.keys(then ?? {}), ...Object.keys(now)])].sort().map((name) => {
    const was = then === null ? null : valueIn(then, name);
    const is = valueIn(now, name);
    return { input, name, was, is, changed: then === null ? null : was !== is };
  });
}

/** By own keys only: an argument may be called like something that every object has. */
function valueIn(map: Readonly<Record<string, string | null>>, name: string): string | null {
  return Object.hasOwn(map, name) ? (map[name] ?? null) : null;
}

/** Every input of a planned cell; empty for one that is not to be built. `changed` is null where nothing is known to compare with. */
export function explainInputs({
  cell,
  locked,
  inputs,
  bases,
}: Pick<PlannedCell, "cell" | "locked" | "inputs" | "bases">): InputComparison[] {
  if (inputs === null) return [];
  const now = { ...inputs, bases, platform: cell.platform };
  if (locked !== null) return compareInputs(locked, now);
  const { dockerfile, context, args, target, builder, rebuild } = now;
  const fresh = (input: InputName, is: string | null, name: string | null = null): InputComparison => ({
    input,
    name,
    was: null,
    is,
    changed: null,
  });
  return [
    fresh("dockerfile", dockerfile),
    fresh("context", context),
    ...Object.entries(args).map(([name, value]) => fresh("args", value, name)),
    fresh("target", target),
    fresh("platform", now.platform),
    ...bases.map(({ used, digest }) => fresh("bases", digest, used)),
    fresh("builder", builder),
    ...(rebuild === undefined ? [] : [fresh("rebuild", rebuild)]),
  ];
}

/** A file, folder or link of a context, as far as it counts. */
interface ContextFile {
  readonly path: string;
  readonly kind: string;
  readonly mode: number;
  readonly content: string;
}

/** Paths in the context, each list sorted. */
export interface ChangedFiles {
  readonly added: readonly string[];
  /** In content, kind or mode. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Both sorted by path. */
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
