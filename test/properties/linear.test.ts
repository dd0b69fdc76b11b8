/**
 * Every reader of outside text works in proportion to it, whatever the text: its steps are counted for each, and for eight times as much.
 * A text that is refused counts too; what is thrown must be a problem with a code.
 */

import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { foundReaders, hardTexts } from "./support/found-readers.ts";
import { isLinear, measureGrowth } from "./support/growth.ts";

// Loaded when the counting has begun.
const { readers } = await import("./support/readers.ts");

describe.each(Object.entries(readers))("%s", (_, { read, texts }) => {
  test.each(Object.entries(texts))("%s: read in proportion to its size", async (_, make) => {
    const growth = await measureGrowth(make, (text) => codedOnly(read, text));
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });
});

describe(`each of the ${foundReaders.length} readers found in the source`, () => {
  test.each(foundReaders)(
    "$name: what its expressions repeat takes no time",
    { timeout: 120_000 },
    async (found) => {
      const read = await found.load();
      expect(slowText(read, found.words)).toBeNull();
    },
  );

  test("those that read what nvidia-smi prints are among them", () => {
    const names = foundReaders.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(
        ["Complaint", "Csv", "Header", "List"].map((what) => `host/nvidia/nvidia-smi.ts parseSmi${what}`),
      ),
    );
  });

  test("an expression that begins anew at each blank is found", () => {
    const read = (text: string) => /for GPU\s*(0:)?\s*:/.exec(text);
    expect(slowText(read, ["for GPU"])).toBe("for GPU".padEnd(80));
  });
});

/**
 * The first 80 characters of a text of 64 KiB that takes more than 1.5 s of a processor; null if none does. A linear reader takes
 * milliseconds, a quadratic one seconds. What an eighth of the text costs decides whether the whole is read.
 */
function slowText(read: (text: string) => unknown, words: readonly string[]): string | null {
  const most = 64 * 1024;
  const slow = hardTexts(words).find(
    (textOf) => !isQuick(read, textOf(most / 8), 20) && !isQuick(read, textOf(most), 1500),
  );
  return slow?.(80).slice(0, 80) ?? null;
}

/** @param mostMs of a processor; a call of ten seconds is ended */
function isQuick(read: (text: string) => unknown, text: string, mostMs: number): boolean {
  const run = Object.assign(globalThis, { imgmatchRead: () => void quiet(read, text) });
  const before = process.cpuUsage();
  try {
    runInThisContext("imgmatchRead()", { timeout: 10_000 });
    return process.cpuUsage(before).user < mostMs * 1000;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    throw error;
  } finally {
    Reflect.deleteProperty(run, "imgmatchRead");
  }
}

/** Other tests ask which texts are refused, and how. */
function quiet(read: (text: string) => unknown, text: string): void {
  try {
    Promise.resolve(read(text)).catch(() => undefined);
  } catch {
    return;
  }
}

test("what compares each with each is found", async () => {
  const count = (text: string) => {
    let pairs = 0;
    for (const one of text) for (const other of text) if (one === other) pairs++;
    return pairs;
  };
  const growth = await measureGrowth((size) => "a".repeat(size), count);
  expect(growth).not.toSatisfy(isLinear);
});

test("what searches a list again for each item, by a function of the language, is found", async () => {
  const growth = await measureGrowth(
    (size) => Array.from({ length: size }, (_, index) => index),
    (list) => list.filter((each) => list.includes(each)),
  );
  expect(growth).not.toSatisfy(isLinear);
});

test("what is proportional passes", async () => {
  const growth = await measureGrowth(
    (size) => "a,".repeat(size * 16),
    (text) => text.split(",").sort(),
  );
  expect(growth).toSatisfy(isLinear);
});

async function codedOnly(read: (text: string) => unknown, text: string): Promise<void> {
  try {
    await read(text);
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
  }
}
