/** What a reader of bytes is given, and what it does with it. */

import { gzipSync } from "node:zlib";
import { type ByteSource, memorySource } from "../../../src/inspect/byte-source.ts";
import { isLong } from "../../support/long.ts";
import { argumentsOf, type ByteReader, givenOf } from "./found-byte-readers.ts";
import { hostileElf } from "./hostile-elf.ts";

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

interface Common {
  readonly noise: Buffer;
  /** Compressed data in compressed data. */
  readonly nested: Buffer;
  readonly elfs: readonly Buffer[];
}

const made = new Map<number, Common>();

function commonOf(size: number): Common {
  const known = made.get(size);
  if (known !== undefined) return known;
  const noise = random(size);
  const common = {
    noise,
    nested: Buffer.concat([gzipSync(gzipSync(noise))], size),
    elfs: fills.flatMap((fill) =>
      [names, names.slice(0, 2)].map((some) =>
        hostileElf(2 * size, { names: some, types, machine: 62, fill }),
      ),
    ),
  };
  made.set(size, common);
  return common;
}

/** Random, nested and repeated bytes. What is repeated overlaps itself: each head tells a length that reaches over those behind it. */
export function inputsFor({ heads, parameters }: ByteReader, size: number): readonly Buffer[] {
  const { noise, nested, elfs } = commonOf(size);
  // Each head is followed by every second of them, the next head by the others: by all with IMGMATCH_LONG.
  const repeated = [Buffer.alloc(0), ...heads].flatMap((head, at) =>
    fills
      .filter((_, index) => isLong || (index + at) % 2 === 0)
      .map((fill) => {
        const unit = Buffer.alloc(Math.max(32, head.length), fill);
        head.copy(unit);
        return Buffer.alloc(size, unit);
      }),
  );
  const isOfElf = parameters.some(
    ({ type }) => /\bElf|Functions|CodeRegion/.test(type) || type === "ByteSource",
  );
  return [noise, nested, ...repeated, ...(isOfElf ? elfs : [])];
}

/** The call, and how many bytes it has read so far. */
export function callOf(
  reader: ByteReader,
  read: Awaited<ReturnType<ByteReader["load"]>>,
  bytes: Buffer,
): { readonly run: () => Promise<void>; readonly count: () => number } {
  const { source, count } = counted(bytes);
  const given = argumentsOf(reader, givenOf(bytes, source));
  if (given === null) throw new Error("a parameter's type has no row in found-byte-readers.ts");
  return { run: () => drained(() => read(...given)), count };
}

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
