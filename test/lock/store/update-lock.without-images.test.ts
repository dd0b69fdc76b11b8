import { expect, test } from "vitest";
import { withoutImages } from "../../../src/fleet/lock.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";

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
