import type { Digest } from "../../src/oci/digest.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { mergedLock, type NamedLock } from "../../src/lock/merge-locks.ts";
import { image, lockOf } from "../resolve/support/locks.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const built = (character: string, change: Partial<LockedImage> = {}) =>
  image({ digest: digest(character), created: "2026-01-01T00:00:00Z", ...change });

function merge(locks: Record<string, Lock>, base: Lock | null = null): Lock {
  const named = Object.entries(locks).map(([file, lock]): NamedLock => ({ file, lock }));
  return mergedLock(named as [NamedLock, ...NamedLock[]], base);
}

function problems(locks: Record<string, Lock>, base: Lock | null = null): string[] {
  try {
    merge(locks, base);
    return [];
  } catch (error) {
    const { problems } = error as { problems: { code: string; message: string }[] };
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(["LOCK_MERGE_CONFLICT"]));
    return problems.map(({ message }) => message);
  }
}

describe("locks of shards", () => {
  const before = lockOf({ a: built("1"), b: built("2") });

  test("are joined", () => {
    const one = lockOf({ a: built("1") });
    const other = lockOf({ b: built("2"), c: built("3") });
    expect(Object.keys(merge({ one, other }).images).sort()).toEqual(["a", "b", "c"]);
  });

  test("keep the last move of each channel", () => {
    const moved = (character: string, at: string) => ({
      digest: digest(character),
      version: "1",
      from: null,
      movedBy: "ann",
      at,
    });
    const [old, now] = [moved("1", "2026-01-01T00:00:00Z"), moved("2", "2026-02-01T00:00:00Z")];
    const one = { ...lockOf({ a: built("1") }), channels: { latest: now, edge: old } };
    const other = { ...lockOf({ a: built("1"), b: built("2") }), channels: { latest: old } };
    for (const locks of [
      { one, other },
      { other, one },
    ])
      expect(merge(locks).channels).toEqual({ latest: now, edge: old });
    expect("channels" in merge({ one: before, other: before })).toBe(false);
  });

  test("do not contradict each other with what they all began with", () => {
    const inputDigest = digest("f");
    const one = lockOf({ a: built("7", { inputDigest }), b: built("2") });
    const other = lockOf({ a: built("1"), b: built("8", { inputDigest }) });
    const { images } = merge({ one, other }, before);
    expect([images.a?.digest, images.b?.digest]).toEqual([digest("7"), digest("8")]);
    expect(problems({ one, other })).toHaveLength(2);
  });

  test("with two digests for one cell are refused, naming every cell, file and digest", () => {
    const one = lockOf({ a: built("3"), b: built("4"), c: built("5") });
    const other = lockOf({ a: built("6"), b: built("7"), c: built("5") });
    const found = problems({ "one.json": one, "two.json": other }, before);
    expect(found).toHaveLength(2);
    for (const part of ["images for a", digest("3"), "one.json", digest("6"), "two.json"])
      expect(found[0]).toContain(part);
  });

  test("of different repositories, fleets or versions are refused", () => {
    const one = lockOf({ a: built("1") });
    expect(problems({ one, two: { ...one, repository: "example.com/x" } })[0]).toMatch(/repository is/);
    expect(problems({ one, two: { ...one, version: "2" } })[0]).toMatch(/version is/);
  });

  test("which built nothing may be of the version before", () => {
    const built_ = { ...lockOf({ ...before.images, c: built("3") }), version: "2" };
    const merged = merge({ idle: before, built: built_ }, before);
    expect(merged.version).toBe("2");
    expect(Object.keys(merged.images)).toHaveLength(3);
  });

  test("say the same of an image that both adopted, and what is pushed goes before what is only built", () => {
    const early = built("1", { created: "2026-01-01T00:00:00Z" });
    const late = built("1", { created: "2026-01-02T00:00:00Z" });
    expect(merge({ one: lockOf({ a: late }), two: lockOf({ a: early }) }).images.a).toEqual({
      ...early,
      tag: "a",
    });
    const local = lockOf({ a: built("1", { digest: null }) });
    expect(merge({ local, pushed: lockOf({ a: early }) }).images.a?.digest).toBe(digest("1"));
  });

  test("give the same lock in any order", () => {
    const shards = ["a", "b", "c", "d"].map((cell, index): NamedLock => {
      const lock = lockOf({ ...before.images, [cell]: built(String(index + 3), { created: null }) });
      return { file: cell, lock };
    });
    fc.assert(
      fc.property(fc.shuffledSubarray(shards, { minLength: 4 }), (shuffled) => {
        const merged = mergedLock(shuffled as [NamedLock, ...NamedLock[]], before);
        expect(formatLock(merged)).toBe(
          formatLock(mergedLock(shards as [NamedLock, ...NamedLock[]], before)),
        );
      }),
    );
  });
});
