/** Files of nothing but the mark of a format and what may follow, again and again: no reader takes more time than the size allows. */

import { expect, test } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { archiveBudget } from "../../src/inspect/image/archive-budget.ts";
import { inspectContent } from "../../src/inspect/image/inspect-content.ts";
import type { ContentSink } from "../../src/inspect/image/opened-file.ts";
import { closeSpooled, sourceOf } from "../../src/inspect/image/spool.ts";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { isLong } from "../support/long.ts";
import { foundHeads } from "./support/found-heads.ts";

const size = 2 ** 19;
/** Seconds of a processor. A linear reader takes some hundredths, or 1.5 where it tries thousands of frames. */
const most = 4;
/** What headers say behind their mark: nothing, all that they can, small numbers in two and in four bytes, text. */
const fills = ["00", "ff", "01000000e8030000", "0001000000000001", "61"].map((hex) =>
  Buffer.from(hex, "hex"),
);
/** Each mark meets two of them, the next mark the other two: all of them with IMGMATCH_LONG. */
const strides = [20, 32, 64, 512];
const marks = [...foundHeads].map(([name, head], at) => {
  const met = strides.filter((_, index) => isLong || (index + at) % 2 === 0);
  return [name, head, met] as const;
});

test.each(marks)(`%s, one of ${marks.length} marks`, { timeout: 120_000 }, async (_, head, met) => {
  for (const stride of met)
    for (const fill of fills) {
      const unit = Buffer.alloc(Math.max(stride, head.length));
      head.copy(unit);
      unit.fill(fill, head.length);
      const before = process.cpuUsage();
      await readAll(Buffer.alloc(size, unit));
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1e6, `${fill.toString("hex")} in ${stride} bytes`).toBeLessThan(most);
    }
});

/** As a file by itself, and as one that may be an archive. What is refused must be refused by a problem with a code. */
async function readAll(bytes: Buffer): Promise<void> {
  const coded = (error: unknown) => {
    if (!(error instanceof ImgmatchError)) throw error;
  };
  await inspectFile(memorySource(bytes), false).catch(coded);
  const sink = {
    unopened() {},
    script() {},
    python() {},
    claim() {},
    async file(_, file) {
      await inspectFile(sourceOf(file), false).finally(() => closeSpooled(file));
    },
  } satisfies Pick<ContentSink, "unopened" | "script" | "python" | "claim" | "file">;
  const chunks = (async function* () {
    yield bytes;
  })();
  await inspectContent("", chunks, sink as ContentSink, archiveBudget()).catch(coded);
}
