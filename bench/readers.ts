/** Measures how the time of each reader of outside text grows with its text. Regular expressions are timed here alone: tests count steps. */

import { readers } from "../test/properties/support/readers.ts";
import { cpuMs } from "./measure.ts";
import { line } from "./report.ts";

const mostBytes = 128 * 1024;
/** Below it, the clock and the compiler count for more than the work. */
const measurableMs = 30;
/** Twice the text takes twice the time, or four times when the time is squared. 3 stands between them. */
const mostGrowth = 3;
const rounds = 5;

export async function readersOfText(): Promise<void> {
  let measured = 0;
  const faster: string[] = [];
  for (const [name, { read, texts }] of Object.entries(readers))
    for (const [title, make] of Object.entries(texts)) {
      const growth = await growthOf(make, read);
      measured++;
      if (growth !== null && growth >= mostGrowth)
        faster.push(`${name}: ${title}: ${growth.toFixed(1)} times for twice as much`);
    }
  line(
    `${measured} hard texts`,
    faster.length === 0 ? "read in proportion to their size" : faster.join("; "),
  );
}

/** The time for twice as much text, as a multiple, at the first size that takes long enough; null where none does. */
async function growthOf(
  make: (size: number) => string,
  read: (text: string) => unknown,
): Promise<number | null> {
  for (let size = 1024; size * 2 <= mostBytes; size *= 2) {
    const text = make(size);
    // The first run may include compilation or garbage collection.
    let once = await readingMs(text, read);
    if (once < measurableMs) continue;
    once = Math.min(once, await readingMs(text, read));
    if (once < measurableMs) continue;
    const doubled = make(size * 2);
    let twice = await readingMs(doubled, read);
    for (let round = 1; round < rounds && twice / once >= mostGrowth; round++) {
      once = Math.min(once, await readingMs(text, read));
      twice = Math.min(twice, await readingMs(doubled, read));
    }
    return twice / once;
  }
  return null;
}

/** A text that the reader refuses counts too. */
function readingMs(text: string, read: (text: string) => unknown): Promise<number> {
  return cpuMs(async () => {
    try {
      await read(text);
    } catch {
      // Tests check the error.
    }
  });
}
