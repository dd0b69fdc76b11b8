/** Names for what runs an image: of a job, a pod, a service. */

import { type ImmutableReference, referenceParts } from "../../oci/immutable-reference.ts";
import type { Json } from "./target.ts";

/** `cv-tf` of `registry.example.com/team/cv-tf:1.0@sha256:…`. */
export function baseName(reference: ImmutableReference): string {
  return lastPart(referenceParts(reference).repository);
}

/** `cv-tf` of the repository `registry.example.com/team/cv-tf`. */
export function lastPart(repository: string): string {
  return repository.slice(repository.lastIndexOf("/") + 1);
}

/** Lower case letters, digits and single hyphens, as DNS labels of at most 63 characters (RFC 1123). */
export function dnsName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|(?<!-)-+$/g, "");
  return name === "" ? "app" : name;
}

/** Documents say what is asked for, and are silent about everything else. */
export type JsonObject = { readonly [key: string]: Json };

/** The fields of an object, each of which may be missing only where the object may lack it. */
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
  const isSaid = (value: unknown) =>
    value !== undefined && (typeof value !== "object" || value === null || Object.keys(value).length > 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isSaid(value)));
}

/** As {@link Array.prototype.map} for what may be missing. */
export function given<T, Made>(value: T | undefined, make: (value: T) => Made): Made | undefined {
  return value === undefined ? undefined : make(value);
}
