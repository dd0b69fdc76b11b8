/** Every exported function that takes bytes has a ceiling of processor time and of bytes read, whatever it is given. */

import { expect, test } from "vitest";
import { callOf, inputsFor } from "./support/bytes-inputs.ts";
import { byteReaders } from "./support/found-byte-readers.ts";

const size = 2 ** 18;
/** Seconds of a processor. A linear reader takes some hundredths, a quadratic one minutes. */
const most = 1.5;
/** How often a byte is read. `inspectFile`, with every reader in it, reads a byte of these files 21 times at most. */
const mostReads = 40;

test.each(byteReaders)(`$name, one of ${byteReaders.length} readers of bytes`, async (reader) => {
  const read = await reader.load();
  for (const bytes of inputsFor(reader, size)) {
    const { run, count } = callOf(reader, read, bytes);
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1e6;
    expect(seconds).toBeLessThan(most);
    expect(count()).toBeLessThan(mostReads * bytes.length);
  }
});
