/** The steps of every exported function that takes bytes, and the bytes that it reads, grow no faster than its input. */

import { expect, test } from "vitest";
// First: what is loaded before the counting begins is not counted.
import { countSteps } from "./support/steps.ts";
import { callOf, inputsFor } from "./support/bytes-inputs.ts";
import { byteReaders } from "./support/found-byte-readers.ts";

/** n and 4n bytes. */
const sizes = [2 ** 13, 2 ** 15];
/** A sort grows a little faster than its input; four times the bytes cost a quadratic reader 16 times as much. */
const slack = 2;
/** Tables that are made, and modules that are loaded, when they are first needed. */
const once = 200_000;

test.each(byteReaders)(`$name, one of ${byteReaders.length} readers of bytes`, async (reader) => {
  const read = await reader.load();
  const cost = async (bytes: Buffer) => {
    const { run, count } = callOf(reader, read, bytes);
    return (await countSteps(run)) + count();
  };
  const inputs = sizes.map((size) => inputsFor(reader, size));
  for (const [at, smallest] of inputs[0]?.entries() ?? []) {
    const small = await cost(smallest);
    const large = await cost(inputs[1]?.[at] ?? smallest);
    expect(large, `input ${at}: ${small}, ${large}`).toBeLessThan(slack * 4 * small + once);
  }
});
