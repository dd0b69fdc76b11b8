/** Joins the locks of two branches by the lock that both began with, as git's merge driver. It asks nobody, and the sides may change places. */

import { type Problem, throwProblems } from "../errors.ts";
import { lineOf } from "./format-lock.ts";
import type { Lock, LockedImage } from "./lock.ts";
import {
  byAge,
  choose,
  lastMoves,
  mergeConflict,
  type NamedLock,
  oneSide,
  requireOneKind,
} from "./merge-locks.ts";

/**
 * A side that left a value as it was gives way to the other. A cell that one side removed goes, unless the other built the cell anew. Of two
 * images of different inputs the lock keeps one until the next build, which `plan` tells: the one with the newer base images or rebuild word,
 * else the later one.
 *
 * Throws `LOCK_MERGE_CONFLICT` for each value that both sides changed in different ways.
 */
export function mergedBranches(sides: readonly [NamedLock, NamedLock], base: Lock | null): Lock {
  const [{ lock: ours }, { lock: theirs }] = sides;
  const problems: Problem[] = [];
  const conflict = (what: string, values: readonly unknown[]) => {
    const each = values.map((value, index) => `${lineOf(value ?? null)} in ${sides[index]?.file}`);
    problems.push(mergeConflict(`both branches changed ${what}: ${each.join(", ")}`, oneSide));
  };
  const merged = <Key extends keyof Lock>(key: Key): Lock[Key] => {
    const taken = changedSide(ours[key], theirs[key], base?.[key]);
    if (taken === null) conflict(key, [ours[key], theirs[key]]);
    return taken === null ? ours[key] : taken.value;
  };
  const images: Record<string, LockedImage> = {};
  for (const cell of new Set([...Object.keys(ours.images), ...Object.keys(theirs.images)])) {
    const [one, two] = [ours.images[cell], theirs.images[cell]];
    const taken = mergedImage(one, two, base?.images[cell]);
    if (taken === null) conflict(cell, [one?.digest, two?.digest]);
    else if (taken.value !== undefined) images[cell] = taken.value;
  }
  const [name, repository, version] = [merged("name"), merged("repository"), merged("version")];
  const [prefer, plainPull] = [merged("prefer"), merged("plainPull")];
  const variants = sides.flatMap(({ lock }) => (lock.version === version ? (lock.variants ?? []) : []));
  const channels = lastMoves(sides, problems);
  problems.push(...requireOneKind(images));
  throwProblems(problems);
  return {
    schemaVersion: ours.schemaVersion,
    ...{ name, version, repository },
    ...(prefer && { prefer }),
    ...(plainPull && { plainPull }),
    images,
    ...(variants.length > 0 && { variants: [...new Set(variants)].sort() }),
    ...channels,
  };
}

/** null where both changed the value in different ways. */
function changedSide<Value>(
  ours: Value,
  theirs: Value,
  base: Value | undefined,
): { readonly value: Value } | null {
  const [one, two, was] = [ours, theirs, base].map((value) => (value === undefined ? "" : lineOf(value)));
  if (one === two || two === was) return { value: ours };
  return one === was ? { value: theirs } : null;
}

type Found = LockedImage | undefined;

function mergedImage(ours: Found, theirs: Found, base: Found): { readonly value: Found } | null {
  const taken = changedSide(ours, theirs, base);
  if (taken !== null) return taken;
  // Removed on one side, and built anew on the other: nothing that was built is lost, and `plan` tells whether the cell is retired.
  if (ours === undefined || theirs === undefined) return { value: ours ?? theirs };
  const [{ nextBases: mine, ...one }, { nextBases: others, ...two }] = [ours, theirs];
  const { nextBases: before, ...was }: Partial<LockedImage> = base ?? {};
  const next = changedSide(mine, others, before);
  const built = changedSide<Partial<LockedImage>>(one, two, was) ?? laterBuild(one, two, base);
  if (next === null || built === null) return null;
  return { value: { ...(built.value as LockedImage), ...(next.value && { nextBases: next.value }) } };
}

/** The build that must not be undone; null where each side has something newer than the other, or one digest of inputs has two images. */
function laterBuild(one: LockedImage, two: LockedImage, base: Found): { readonly value: LockedImage } | null {
  const same = one.inputDigest === two.inputDigest ? choose([one, two]) : undefined;
  if (same !== undefined) return same && { value: same };
  const bases = changedSide(one.bases, two.bases, base?.bases);
  if (bases === null) return null;
  const [word = "", otherWord = ""] = [one, two].map(({ inputs }) => inputs?.rebuild);
  const ahead = [
    ...(lineOf(one.bases) === lineOf(two.bases) ? [] : [bases.value === one.bases ? one : two]),
    ...(word === otherWord ? [] : [word > otherWord ? one : two]),
  ];
  const [value = [one, two].sort(byAge).at(-1) ?? one] = ahead;
  return ahead.every((each) => each === value) ? { value } : null;
}
