/** Optional parts of a command line or a document: whatever nobody asked for is left out. */

import type { Json } from "./target.ts";

/** `["--memory", "512m"]`; empty without a value. */
export function flag(name: string, value: string | number | undefined, unit = ""): readonly string[] {
  return value === undefined ? [] : [name, `${value}${unit}`];
}

/** The flag once for each value. */
export function flags(name: string, values: readonly string[]): readonly string[] {
  return values.flatMap((value) => [name, value]);
}

/** `["NAME=VALUE"]` */
export function assignments(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

export type JsonObject = { readonly [key: string]: Json };

/** The fields of an object. Only a field that the object may lack may be undefined. */
type Fields<T> = {
  [Key in keyof T]: Record<never, never> extends Pick<T, Key> ? T[Key] | undefined : T[Key];
};

/**
 * The object without fields that are undefined, an empty list or an empty object.
 *
 * @example
 * filled({ image: "app", cpus: undefined, volumes: [] }); // { image: "app" }
 */
export function filled(fields: { readonly [key: string]: Json | undefined }): JsonObject;

export function filled<T extends object>(fields: Fields<NoInfer<T>>): T;

export function filled(fields: object): object {
  const isFilled = (value: unknown) =>
    value !== undefined && (typeof value !== "object" || value === null || Object.keys(value).length > 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isFilled(value)));
}

/** {@link Array.prototype.map} for a value that may be missing. */
export function given<T, Made>(value: T | undefined, make: (value: T) => Made): Made | undefined {
  return value === undefined ? undefined : make(value);
}
