/**
 * A view that throws on unknown names and on values that are no text. Handlebars' strict mode does not look inside
 * `{{#if missing}}`, and prints a mapping as `[object Object]`; this does neither.
 */

export class UnknownNameError extends Error {
  override readonly name = "UnknownNameError";
  /** The name as the template has it, for example `cuda.tolkit`. */
  readonly unknown: string;
  readonly known: readonly string[];

  /** Where, when that is known. Both count from 1. */
  readonly at: { readonly line: number; readonly column: number } | null;

  constructor(unknown: string, known: readonly string[], at: UnknownNameError["at"] = null) {
    super(`unknown name ${unknown}`);
    this.unknown = unknown;
    this.known = known;
    this.at = at;
  }
}

export class NotTextError extends Error {
  override readonly name = "NotTextError";
  /** Empty for the view itself. */
  readonly path: string;
  readonly keys: readonly string[];

  constructor(path: string, keys: readonly string[]) {
    super(`${path} is a mapping`);
    this.path = path;
    this.keys = keys;
  }
}

/** The view has the name, and for this cell nothing behind it: `cuda` in a CPU-only row. */
export class NothingToPrintError extends Error {
  override readonly name = "NothingToPrintError";
  readonly path: string;
  /** Both count from 1. */
  readonly at: { readonly line: number; readonly column: number };

  constructor(path: string, at: NothingToPrintError["at"]) {
    super(`${path} is nothing`);
    this.path = path;
    this.at = at;
  }
}

export function guardView<View extends object>(view: View, path = ""): View {
  return new Proxy(view, {
    // Handlebars asks this before `get`, and would report an absent name without saying where.
    has: () => true,
    get(target, name, receiver) {
      if (name === Symbol.toPrimitive && !Array.isArray(target)) {
        throw new NotTextError(path.replace(/\.$/, ""), Object.keys(target));
      }
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof name === "symbol" || Array.isArray(target)) return value;
      if (!Object.hasOwn(target, name)) throw new UnknownNameError(`${path}${name}`, Object.keys(target));
      return typeof value === "object" && value !== null ? guardView(value, `${path}${name}.`) : value;
    },
  });
}
