import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import { mergeLockFiles } from "../../src/lock/merge-locks.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";

const text = (...cells: string[]) =>
  formatLock(lockOf(Object.fromEntries(cells.map((cell) => [cell, image()]))));
const folder = () =>
  makeFolder({ "home.json": text("a"), "one.json": text("a", "b"), "two.json": text("a", "c") });
const files = (root: string) => [join(root, "one.json"), join(root, "two.json")] as const;

test("writes the fleet's own lock with what the builds have added", async () => {
  const root = folder();
  const home = join(root, "home.json");
  const { lock, out } = await mergeLockFiles([...files(root)], { home });
  expect(out).toBe(home);
  expect(Object.keys(lock.images).sort()).toEqual(["a", "b", "c"]);
  expect(readFileSync(home, "utf8")).toBe(formatLock(lock));
});

test("leaves the fleet's own lock as it is where the result goes elsewhere", async () => {
  const root = folder();
  const [home, out] = [join(root, "home.json"), join(root, "out.json")];
  const { lock } = await mergeLockFiles([...files(root)], { home, out });
  expect(readFileSync(home, "utf8")).toBe(text("a"));
  expect(readFileSync(out, "utf8")).toBe(formatLock(lock));
});

test("a base that is named has to be there", async () => {
  const root = folder();
  const merged = mergeLockFiles([...files(root)], {
    home: join(root, "home.json"),
    base: join(root, "no.json"),
  });
  await expect(merged).rejects.toMatchObject({ code: "LOCK_NOT_FOUND" });
});
