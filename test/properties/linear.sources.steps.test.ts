/** The steps of every exported function that takes bytes, and the bytes that it reads, grow no faster than its input. */

import { expect, test } from "vitest";
// First: what is loaded before the counting begins is not counted.
import { countSteps } from "./support/steps.ts";
import { callOf, inputsFor } from "./support/bytes-inputs.ts";
import { byteReaders } from "./support/found-byte-readers.ts";

/** n, 2n and 4n bytes. */
const sizes = [2 ** 13, 2 ** 14, 2 ** 15];
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
    const costs = [];
    for (const each of inputs) costs.push(await cost(each[at] ?? smallest));
    const [small = 0, ...larger] = costs;
    for (const [step, large] of larger.entries())
      expect(large, `input ${at}: ${costs}`).toBeLessThan(slack * 2 ** (step + 1) * small + once);
  }
});
