/** Other images in place of the bases that Dockerfiles name: a mirror, an equivalent. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { suggest } from "../../io/suggest.ts";
import { firstOf } from "../../io/table.ts";
import { isRepository, parseImageReference } from "../../oci/reference.ts";
import type { Fleet } from "./open-fleet.ts";

interface Replacement {
  readonly used: string;
  /** In the matrix; null for one that the caller asks for. */
  readonly at: Place | null;
}

/**
 * The matrix' own replacements, and before them the caller's. Throws `USAGE` or `MATRIX_SCHEMA` for a base that no Dockerfile of the
 * whole fleet names: what it was to replace would be built with.
 */
export function replacementsOf(
  fleet: Fleet,
  asked: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const { matrix } = fleet;
  const all = new Map<string, Replacement>([
    ...Object.entries(matrix.replaceBases).map(([ref, { value, at }]) => [ref, { used: value, at }] as const),
    ...[...asked].map(([ref, used]) => [ref, { used, at: null }] as const),
  ]);
  if (all.size === 0) return asked;
  const names = replaceableBases(fleet);
  const matches = [...all].map(([old, { used, at }]) => ({
    ...{ old, used, at },
    found: names.flatMap((ref) => matchIn(old, ref) ?? []),
  }));
  throwProblems(
    matches.flatMap(({ old, at, found }) => (found.length > 0 ? [] : [unknownReplacement(old, at, names)])),
  );
  // The last one counts: of the matrix before the caller's, and of each what names less first, as `docker.io` before `nvidia/cuda`.
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

/** Those of all its Dockerfiles, sorted. Images that another fleet builds are not among them. */
function replaceableBases({ cells, dockerfileOf, parents }: Fleet): readonly string[] {
  const refs = new Set(
    cells.flatMap(({ cell, skipped }) =>
      skipped === null ? dockerfileOf(cell).bases.map(({ ref }) => ref) : [],
    ),
  );
  return [...refs].filter((ref) => !parents.has(ref)).sort();
}

/** Of what is asked for, what this fleet's bases have. */
export function replacementsFor(
  fleet: Fleet,
  asked: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (asked.size === 0) return asked;
  const names = replaceableBases(fleet);
  return new Map([...asked].filter(([old]) => names.some((ref) => matchIn(old, ref) !== null)));
}

/** How much of a base's name this is: all of it, its repository, or a registry with or without a path. Null where it is none of these. */
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
