import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { makeFolder } from "../support/folders.ts";
import { lock as anyLock } from "./support/arbitrary.ts";

const sample = parseLock(readFileSync("test/fixtures/locks/v2.json", "utf8"), "v2.json");

describe("the text of a lock", () => {
  test("is read back as the same lock", () => {
    fc.assert(
      fc.property(anyLock, (lock) => {
        expect(parseLock(formatLock(lock), "lock")).toEqual(lock);
      }),
    );
  });

  test("is the same whatever the order of its keys", () => {
    const reverse = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reverse);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, item]) => [key, reverse(item)]),
      );
    };
    fc.assert(
      fc.property(anyLock, (lock) => {
        expect(formatLock(reverse(lock) as Lock)).toBe(formatLock(lock));
      }),
    );
  });

  test("has sorted keys, two spaces, and ends with one line end", () => {
    const text = formatLock(sample);
    const top = [...text.matchAll(/^ {2}"(\w+)":/gm)].map(([, key]) => key);
    expect(top).toEqual(["images", "name", "repository", "schemaVersion", "version"]);
    expect(Object.keys(JSON.parse(text).images)).toEqual(Object.keys(sample.images).sort());
    expect(text).toMatch(/[^\n]\n$/);
    expect(text).not.toContain("\r");
  });

  test("has a line for each cell and each channel, and says the same as plain JSON", () => {
    const [image] = Object.values(sample.images);
    if (image === undefined) throw new Error("no image");
    const lock = { ...sample, images: { one: image, other: image } };
    const text = formatLock(lock);
    const rows = text.split("\n").filter((line) => line.startsWith("    "));
    expect(rows.map((line) => line.trim().split(":")[0])).toEqual(['"one"', '"other"']);
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(lock)));
    const plain = `${JSON.stringify(lock, null, 2)}\n`;
    expect(parseLock(plain, "lock")).toEqual(parseLock(text, "lock"));
  });

  test("stays as it is when it is read and written again", () => {
    const text = formatLock(sample);
    expect(formatLock(parseLock(text, "lock"))).toBe(text);
    expect(formatLock(parseLock(text.replaceAll("\n", "\r\n"), "lock"))).toBe(text);
  });
});

test("two people who add cells in different places merge without a conflict", () => {
  const [image] = Object.values(sample.images);
  const withCells = (...cells: string[]): string => {
    const images: Record<string, LockedImage> = { ...sample.images };
    for (const cell of cells) if (image !== undefined) images[cell] = { ...image, tag: cell };
    return formatLock({ ...sample, images });
  };
  const root = makeFolder({
    base: withCells(),
    ours: withCells("11.8.0_8.0_broadwell"),
    theirs: withCells("none_broadwell"),
  });
  const paths = ["ours", "base", "theirs"].map((name) => join(root, name));
  const merged = execFileSync("git", ["merge-file", "--stdout", ...paths], { encoding: "utf8" });
  expect(merged).toBe(withCells("11.8.0_8.0_broadwell", "none_broadwell"));
});
