/** Every exported function that takes bytes works in proportion to the bytes: it is given random, repeated and self-overlapping ones. */

import { expect, test } from "vitest";
import { type ByteSource, memorySource } from "../../src/inspect/byte-source.ts";
import { argumentsOf, type ByteReader, byteReaders, givenOf } from "./support/found-byte-readers.ts";
import { hostileElf } from "./support/hostile-elf.ts";

const size = 2 ** 18;
/** Seconds of a processor. A linear reader takes some hundredths, a quadratic one minutes. */
const most = 1.5;
/** How often a byte is read: a file has up to 100 sections of notes. */
const mostReads = 250;

const fills = ["00", "ff", "01000000e8030000", "c5f5fed0ebfd"].map((hex) => Buffer.from(hex, "hex"));
const names = [".init_array", ".rela.dyn", ".eh_frame", ".gopclntab", ".rodata", ".comment", ".rela.plt"];
const types = [1, 2, 4, 7, 11];

/** The same numbers in each run. */
function random(length: number): Buffer {
  const words = new Uint32Array(length / 4);
  for (let at = 0, word = 1; at < words.length; at++)
    words[at] = word = Math.imul(word, 1664525) + 1013904223;
  return Buffer.from(words.buffer);
}

const noise = random(size);
const elfs = fills.flatMap((fill) =>
  [names, names.slice(0, 2)].map((some) => hostileElf(2 * size, { names: some, types, machine: 62, fill })),
);

function inputsFor({ heads, parameters }: ByteReader): readonly Buffer[] {
  const repeated = [Buffer.alloc(0), ...heads].flatMap((head) =>
    fills.map((fill) => {
      const unit = Buffer.alloc(Math.max(32, head.length), fill);
      head.copy(unit);
      return Buffer.alloc(size, unit);
    }),
  );
  const isOfElf = parameters.some(
    ({ type }) => /\bElf|Functions|CodeRegion/.test(type) || type === "ByteSource",
  );
  return [noise, ...repeated, ...(isOfElf ? elfs : [])];
}

test.each(byteReaders)(`$name, one of ${byteReaders.length} readers of bytes`, async (reader) => {
  const read = await reader.load();
  for (const bytes of inputsFor(reader)) {
    const { source, count } = counted(bytes);
    const given = argumentsOf(reader, givenOf(bytes, source));
    if (given === null) throw new Error("a parameter's type has no row in found-byte-readers.ts");
    const before = process.cpuUsage();
    await drained(() => read(...given));
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1e6;
    expect(seconds).toBeLessThan(most);
    expect(count()).toBeLessThan(mostReads * bytes.length);
  }
});

function counted(bytes: Buffer): { readonly source: ByteSource; readonly count: () => number } {
  const source = memorySource(bytes);
  let count = 0;
  const add = (piece: Uint8Array) => {
    count += piece.length;
    return piece;
  };
  return {
    source: {
      size: source.size,
      read: (at, length) => add(source.read(at, length)),
      readOver: (at, buffer) => add(source.readOver(at, buffer)),
    },
    count: () => count,
  };
}

/** What is refused was read until then. */
async function drained(read: () => unknown): Promise<void> {
  try {
    const answer = await read();
    if (typeof answer !== "object" || answer === null) return;
    if (Symbol.asyncIterator in answer) for await (const _ of answer as AsyncIterable<unknown>);
    else if (Symbol.iterator in answer && "next" in answer) for (const _ of answer as Iterable<unknown>);
  } catch (error) {
    // A mistake of the reader, or a row that is none of its type.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
  }
}
