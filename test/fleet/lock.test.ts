import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mergeLocks, removeFromLock } from "../../src/fleet/lock.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";

const text = (...cells: string[]) =>
  formatLock(lockOf(Object.fromEntries(cells.map((cell) => [cell, image()]))));

describe("mergeLocks", () => {
  const folder = () =>
    makeFolder({ "home.json": text("a"), "one.json": text("a", "b"), "two.json": text("a", "c") });
  const files = (root: string) =>
    ({ lock: join(root, "home.json"), locks: [join(root, "one.json"), join(root, "two.json")] }) as const;

  test("writes the fleet's own lock with what the builds have added", async () => {
    const given = files(folder());
    expect(await mergeLocks(given)).toEqual({
      schemaVersion: 1,
      out: given.lock,
      locks: given.locks,
      images: 3,
    });
    expect(readFileSync(given.lock, "utf8")).toBe(text("a", "b", "c"));
  });

  test("leaves the fleet's own lock as it is where the result goes elsewhere", async () => {
    const root = folder();
    const out = join(root, "out.json");
    await mergeLocks({ ...files(root), out });
    expect(readFileSync(join(root, "home.json"), "utf8")).toBe(text("a"));
    expect(readFileSync(out, "utf8")).toBe(text("a", "b", "c"));
  });

  test("a base that is named has to be there", async () => {
    const root = folder();
    const merged = mergeLocks({ ...files(root), base: join(root, "no.json") });
    await expect(merged).rejects.toMatchObject({ code: "LOCK_NOT_FOUND" });
  });
});

test("removeFromLock changes the lock on disk, and says what it has removed", async () => {
  const lock = join(makeFolder({ "lock.json": text("a", "b", "c") }), "lock.json");
  const answer = await removeFromLock({ lock, cells: ["c", "a", "a"] });
  expect(answer).toEqual({ schemaVersion: 1, removed: ["a", "c"], adopted: false, kept: 1 });
  expect(readFileSync(lock, "utf8")).toBe(text("b"));
});
