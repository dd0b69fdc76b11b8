import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import { removeImages, withoutImages } from "../../src/lock/update-lock.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";

const lock = lockOf({ a: image(), b: image(), c: image() });

test("drops exactly the named images", () => {
  expect(Object.keys(withoutImages(lock, ["c", "a", "a"], "x.json").images)).toEqual(["b"]);
  expect(withoutImages(lock, ["a"], "x.json")).toMatchObject({ repository: lock.repository });
});

test("names every cell that is not there, and drops nothing", () => {
  expect(() => withoutImages(lock, ["a", "typo", "constructor"], "x.json")).toThrow(
    expect.objectContaining({
      code: "CELL_NOT_FOUND",
      problems: [
        expect.objectContaining({ message: 'the lock has no cell "typo"', at: { file: "x.json" } }),
        expect.objectContaining({ message: 'the lock has no cell "constructor"' }),
      ],
    }),
  );
});

test("changes the lock on disk, and says what it has removed", async () => {
  const file = join(makeFolder({ "lock.json": formatLock(lock) }), "lock.json");
  expect(await removeImages(file, ["c", "a", "a"])).toEqual(["a", "c"]);
  expect(readFileSync(file, "utf8")).toBe(formatLock(withoutImages(lock, ["a", "c"], file)));
});
