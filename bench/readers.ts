/** Readers of outside text, and whether the time that one takes grows faster than its text: expressions are timed here, as no test counts their steps. */

import { readers } from "../test/properties/support/readers.ts";
import { isLinear, measureGrowth } from "./growth.ts";
import { line } from "./report.ts";

export async function readersOfText(): Promise<void> {
  let measured = 0;
  const faster: string[] = [];
  for (const [name, { read, texts }] of Object.entries(readers))
    for (const [title, make] of Object.entries(texts)) {
      const growth = await measureGrowth(make, refusedOrRead(read), 128 * 1024);
      measured++;
      if (!isLinear(growth))
        faster.push(`${name}: ${title}: ${growth?.ratio.toFixed(1)} times for twice as much`);
    }
  line(
    `${measured} hard texts`,
    faster.length === 0 ? "read in proportion to their size" : faster.join("; "),
  );
}

/** A text that is refused counts too. */
function refusedOrRead(read: (text: string) => unknown) {
  return async (text: string): Promise<void> => {
    try {
      await read(text);
    } catch {
      // What it is refused with is tested, not measured.
    }
  };
}
