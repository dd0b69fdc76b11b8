/** Looks through all code of a file for AArch64 for what may write to places of data: other instructions than some, and whoever gets an address. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { pageIn } from "./arm64-functions.ts";
import { field, has } from "./arm64-words.ts";
import { codeAreas } from "./regions.ts";
import type { Kept } from "./x86-writers.ts";

const pieceBytes = 2 ** 20;
/** ADRP stands so many instructions in front of the one that uses the page, or closer. */
const mostBetween = 8;
/** An address so many bytes in front of a place may be of a structure that has the place. */
const mostInFront = 64;
const [mostPlaces, longestStore] = [64, 16];

/** True if code of the file may write to one of the places, beside the instructions that are known to. */
export function areWrittenByArm(
  { places, by, pointers = new Set() }: Kept,
  source: ByteSource,
  elf: Elf,
): boolean {
  if (places.size > mostPlaces) return true;
  const isIn = (target: number, bytes: number) =>
    [...places].some(([place, own]) => target > place - bytes && target < place + own);
  // Go has the address of what has no bytes where a section begins.
  const ends = new Set(elf.sections.flatMap(({ address, size }) => [address, address + size]));
  const pages = new Set(
    [...places.keys()].flatMap((place) =>
      [place - mostInFront, place + 8].map((each) => Math.floor(each / 4096)),
    ),
  );
  const mayWrite = (word: number, page: number, behind: number): boolean => {
    const number = field(word, 10, 12);
    const target = page * 4096 + number;
    // ADD of a number. Go's assembler uses X27 in the next instruction alone: LDP, STP and others have no room for the number.
    if (has(word, 0xffc0_0000, 0x9100_0000)) {
      const isPair =
        field(word, 0, 5) === 27 && field(behind, 5, 5) === 27 && has(behind, 0x3b80_0000, 0x2900_0000);
      if (!isPair) return !ends.has(target) && isIn(target, mostInFront);
      return field(behind, 22, 1) === 0
        ? isIn(target, 2 * longestStore)
        : pointers.has(target) || pointers.has(target + 8);
    }
    if (!has(word, 0x3b00_0000, 0x3900_0000)) return isIn(page * 4096, 4096);
    const isVector = field(word, 26, 1) === 1;
    const isLong = isVector && field(word, 23, 1) === 1;
    const place = page * 4096 + number * (isLong ? 16 : 2 ** field(word, 30, 2));
    const isStore = (field(word, 22, 2) & (isVector ? 1 : 3)) === 0;
    return isStore ? isIn(place, longestStore) : pointers.has(place);
  };
  for (const { offset, address, size } of codeAreas(elf))
    for (let from = 0; from < size; from += pieceBytes - 4 * mostBetween) {
      const bytes = source.read(offset + from, Math.min(pieceBytes, size - from));
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let at = 0; at + 4 <= bytes.length; at += 4) {
        const word = view.getUint32(at, true);
        if ((word & 0x9f00_0000) >>> 0 !== 0x9000_0000) continue;
        const page = pageIn({ at: address + from + at, word });
        if (page === null || !pages.has(page)) continue;
        const last = Math.min(bytes.length - 4, at + 4 * mostBetween);
        for (let next = at + 4; next <= last; next += 4) {
          const user = view.getUint32(next, true);
          const isUser =
            field(user, 5, 5) === field(word, 0, 5) &&
            (has(user, 0x0a00_0000, 0x0800_0000) || has(user, 0x1f80_0000, 0x1100_0000));
          if (
            isUser &&
            !by.has(address + from + next) &&
            mayWrite(user, page, next + 8 <= bytes.length ? view.getUint32(next + 4, true) : 0)
          )
            return true;
          if (field(user, 0, 5) === field(word, 0, 5)) break;
        }
      }
    }
  return false;
}
