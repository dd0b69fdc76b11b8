/** Replaces the bases that Dockerfiles name with other images: a mirror, an equivalent. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { suggest } from "../../io/suggest.ts";
import { firstOf } from "../../io/table.ts";
import { isRepository, parseImageReference } from "../../oci/reference.ts";
import { buildableCells } from "../cells/expand.ts";
import type { Fleet } from "./open-fleet.ts";

interface Replacement {
  readonly used: string;
  /** Its place in the matrix; null for one of the caller. */
  readonly at: Place | null;
}

/**
 * The replacements of the caller and of the matrix, for the bases of this fleet. The caller's go first. Throws `USAGE` or `MATRIX_SCHEMA` for
 * one that matches no base of the fleet: the base that somebody meant to replace would be used.
 */
export function replacementsOf(
  fleet: Fleet,
  fromCaller: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const { matrix } = fleet;
  const all = new Map<string, Replacement>([
    ...Object.entries(matrix.replaceBases).map(([ref, { value, at }]) => [ref, { used: value, at }] as const),
    ...[...fromCaller].map(([ref, used]) => [ref, { used, at: null }] as const),
  ]);
  if (all.size === 0) return fromCaller;
  const names = replaceableBases(fleet);
  const matches = [...all].map(([old, { used, at }]) => ({
    ...{ old, used, at },
    found: names.flatMap((ref) => matchIn(old, ref) ?? []),
  }));
  throwProblems(
    matches.flatMap(({ old, at, found }) => (found.length > 0 ? [] : [unknownReplacement(old, at, names)])),
  );
  // The last one counts: the matrix's stand before the caller's, and short names before long ones: `docker.io` before `nvidia/cuda`.
  const uses = matches.flatMap(({ used, at, found }) =>
    found.map(({ ref, rest, length }) => ({
      ref,
      used: used + rest,
      by: [at === null ? 1 : 0, length] as const,
    })),
  );
  const ordered = uses.sort(({ by: a }, { by: b }) => a[0] - b[0] || a[1] - b[1]);
  return new Map(ordered.map(({ ref, used }) => [ref, used]));
}

/** The bases of all Dockerfiles, sorted, without the images of other fleets. */
function replaceableBases({ cells, dockerfileOf, parents }: Fleet): readonly string[] {
  const refs = new Set(
    buildableCells(cells).flatMap((cell) => dockerfileOf(cell).bases.map(({ ref }) => ref)),
  );
  return [...refs].filter((ref) => !parents.has(ref)).sort();
}

/** The caller's replacements that match a base of this fleet. */
export function replacementsFor(
  fleet: Fleet,
  fromCaller: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (fromCaller.size === 0) return fromCaller;
  const names = replaceableBases(fleet);
  return new Map([...fromCaller].filter(([old]) => names.some((ref) => matchIn(old, ref) !== null)));
}

/** Compares `old` with a base: the whole reference, its repository, or its registry with or without a path. Null for another image. */
function matchIn(old: string, ref: string): { ref: string; rest: string; length: number } | null {
  if (old === ref) return { ref, rest: "", length: Number.POSITIVE_INFINITY };
  const { registry, repository, tag, digest } = parseImageReference(ref);
  const whole = `${registry}/${repository}`;
  const place = isRepository(old) ? parseImageReference(old) : null;
  const given = place !== null && `${place.registry}/${place.repository}` === whole ? whole : old;
  if (given !== whole && !whole.startsWith(`${given}/`)) return null;
  const suffix = `${tag === null ? "" : `:${tag}`}${digest === null ? "" : `@${digest}`}`;
  return { ref, rest: whole.slice(given.length) + suffix, length: given.length };
}

function unknownReplacement(ref: string, at: Place | null, names: readonly string[]): Problem {
  const near = suggest(ref, names);
  const known = `the bases are ${firstOf(names, 10)}`;
  return {
    code: at === null ? "USAGE" : "MATRIX_SCHEMA",
    message: `no Dockerfile starts from ${ref}: there is nothing to replace`,
    fix: near === null ? known : `did you mean ${near}? ${known}`,
    ...(at === null ? {} : { at }),
  };
}
