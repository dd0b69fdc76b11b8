/** Reads the constants of a program for AArch64: tables of bits, and the addresses that the loader writes into such tables. */

import { once, remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, offsetOfAddress, segmentType } from "../elf/elf.ts";
import { eachRelocation, isOfOwn } from "./fixed-pointers.ts";
import { constant, type Value } from "./known-bits.ts";

const writable = 2;
const mostPointers = 2 ** 16;

/** What so many bytes of a place are that nobody writes to once the program runs; null for others. */
export function armConstants(source: ByteSource, elf: Elf): (place: number, bytes: number) => Value | null {
  const { address, size } = elf.sections.find(({ name }) => name === ".data.rel.ro") ?? {
    address: 0,
    size: 0,
  };
  const fixed = elf.segments.filter(
    ({ type, flags }) => type === segmentType.load && (flags & writable) === 0,
  );
  const isIn = (place: number, from: number, length: number) => place >= from && place < from + length;
  /** By the place; null where another file's address is written. */
  const pointers = once(() => {
    const found = new Map<number, number | null>();
    const relocations = elf.sections.find(({ name }) => name === ".rela.dyn");
    if (relocations !== undefined)
      eachRelocation(
        source,
        relocations,
        ({ place, type, addend }) => {
          if (found.size < mostPointers) found.set(place, isOfOwn(type) ? addend : null);
        },
        [address, address + size],
      );
    return found;
  });
  const words = new Map<number, Value | null>();
  return (place, bytes) => {
    const isTable = isIn(place, address, size);
    if (!isTable && !fixed.some((each) => isIn(place, each.address, each.size))) return null;
    return remember(words, place * 16 + bytes, () => {
      const around = isTable ? pointers().get(place - (place % 8)) : undefined;
      if (around !== undefined)
        return around === null || bytes < 8 || place % 8 !== 0 ? null : { at: around };
      if (isTable && pointers().size >= mostPointers) return null;
      const offset = offsetOfAddress(elf, place);
      const read = offset === null ? new Uint8Array(0) : source.read(offset, bytes);
      if (read.length < bytes) return null;
      return constant(read.reduceRight((all, byte) => all * 256n + BigInt(byte), 0n));
    });
  };
}
