/** Compares the claims of a lock about an image with those of its provenance. */

import type { ClaimComparison, ClaimDifference } from "../../oci/verified-provenance.ts";
import type { Lock, LockedBase, LockedImage } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { canonical } from "../../io/canonical-json.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { type AttestedBase, type AttestedBuild, fullRepository } from "./attested-build.ts";

export interface LockedClaims {
  readonly lock: Pick<Lock, "name">;
  readonly cell: string;
  readonly image: LockedImage;
  /** The digests by which a statement may name the image: the lock's, and that of the image inside an index. */
  readonly digests: readonly Digest[];
}

/** The lock claims nothing but the digest of an image that others built. */
export function compareClaims(claims: LockedClaims, build: AttestedBuild): ClaimComparison {
  const { image, digests } = claims;
  const isSubject = build.subjects.some((subject) => digests.includes(subject));
  const subject: ClaimDifference = {
    claim: "subject",
    locked: digests[0] ?? null,
    attested: build.subjects.join(", ") || null,
  };
  const pairs =
    image.adopted === undefined ? [...pairsOf(claims, build), ...basesOf(image.bases, build)] : [];
  return {
    differences: [...(isSubject ? [] : [subject]), ...pairs.filter(isDifferent)],
    unstated: pairs.filter((pair) => pair.isSilent).map(({ claim }) => claim),
  };
}

interface Pair extends ClaimDifference {
  readonly isSilent: boolean;
}

function isDifferent({ isSilent, locked, attested }: Pair): boolean {
  return !isSilent && locked !== attested;
}

/** A pair for each claim of the lock. */
function pairsOf({ lock, cell, image }: LockedClaims, build: AttestedBuild): readonly Pair[] {
  const { inputDigest, platform, builder, axes, attested } = image;
  const pair = (claim: string, locked: string | null | undefined, said: string | null): readonly Pair[] =>
    locked === null || locked === undefined
      ? []
      : [{ claim, locked, attested: said, isSilent: said === null }];
  return [
    ...pair("inputs", inputDigest, build.inputDigest),
    ...pair("fleet", lock.name, build.fleet),
    ...pair("cell", cell, build.cell),
    ...pair("axes", textOf(axes), build.axes === null ? null : textOf(build.axes)),
    ...pair("platform", platform, build.platform),
    ...pair("matrix", attested?.matrix, build.matrix),
    ...pair("revision", attested?.revision, build.revision),
    ...pair("engine", builder, build.engine),
  ];
}

function textOf(axes: Readonly<Record<string, string>>): string {
  return JSON.stringify(canonical(axes));
}

/**
 * imgmatch's provenance names every base. BuildKit's provenance omits the bases of skipped stages, and names images that are no bases: the
 * frontend's, the scanner's. So a base is compared by its name in the lock. A base that BuildKit does not name is unstated.
 */
function basesOf(bases: readonly LockedBase[], { builtBy, bases: attested }: AttestedBuild): readonly Pair[] {
  const pairs = bases.map((base) => pairOfBase(base, attested, builtBy === "imgmatch"));
  const named = new Set(bases.map(({ digest }) => digest));
  const taken = new Set(pairs.map((pair) => pair.attested));
  const more =
    builtBy === "imgmatch" ? attested.filter(({ digest }) => !named.has(digest) && !taken.has(digest)) : [];
  return [
    ...pairs,
    ...more.map(({ digest, image }) => ({
      claim: `base ${image === null ? "of an engine" : image.repository}`,
      locked: null,
      attested: digest,
      isSilent: false,
    })),
  ];
}

function pairOfBase(base: LockedBase, attested: readonly AttestedBase[], isWhole: boolean): Pair {
  const { ref, digest, local } = base;
  const isCalledSo = (other: AttestedBase) =>
    local === undefined ? hasName(ref, other) : other.image === null;
  const found = attested.find((other) => other.digest === digest) ?? attested.find(isCalledSo);
  const said = found?.digest ?? null;
  return { claim: `base ${ref}`, locked: digest, attested: said, isSilent: said === null && !isWhole };
}

function hasName(ref: string, { image }: AttestedBase): boolean {
  if (image === null) return false;
  const { tag, ...name } = parseImageReference(ref);
  return image.repository === fullRepository(name) && (tag ?? "latest") === (image.tag ?? "latest");
}
