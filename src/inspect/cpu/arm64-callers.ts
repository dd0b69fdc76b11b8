/** Finds all functions of a program for AArch64 that ask for the CPU's features, and their callers. */

import { type ByteSource, withWindow } from "../byte-source.ts";
import { type Elf, type ElfSegment, segmentType, writableSegment } from "../elf/elf.ts";
import { comparedIn, isStep, isStubLoad, mostStubBytes, pageIn, targetIn } from "./arm64-functions.ts";
import { fieldsIn } from "./arm64-registers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { codeAreas } from "./regions.ts";
import { longestAnswer } from "./way-calls.ts";

export type ArmCalls = ReturnType<typeof armCalls>;

/** Reads all calls of a file, and jumps from function to function. */
export function armCalls(source: ByteSource, elf: Elf, ranges: ReturnType<typeof readFunctionRanges>) {
  /** A function, and the address to which a call in it leads. */
  const calls = pairColumns();
  /** The place of ADRP, and its page of data that a program may write. */
  const pages = pairColumns();
  const firstPage = firstDataPage(elf);
  const functionAt = functionFinder(ranges);
  const asked = new Set<number>();
  const shapes = questionShapes();
  eachWindow(source, elf, (view, address) => {
    for (let each = 0; each + 4 <= view.byteLength; each += 4) {
      const word = view.getInt32(each, true);
      const at = address + each;
      switch (word >>> 26) {
        // BL, and B.
        case 0x25:
        case 5: {
          const target = targetIn(at, word);
          const start = functionAt.start(at);
          const isJump = word >>> 31 === 0;
          if (start === null || (isJump && functionAt.isStill(target))) break;
          if (!isJump || ranges.addressAt(ranges.firstFrom(target)) === target) calls.add(start, target);
          break;
        }
        // Loads.
        case 0x3e:
          if (isStubLoad(word)) shapes.load(at);
          else if (isStep(word)) shapes.step(at);
          break;
        // ADRP, and sums and comparisons with a number.
        case 0x24:
        case 0x2c:
        case 0x34:
        case 0x3c: {
          const page = pageIn({ at, word });
          if (page === null) {
            if (comparedIn(word) !== null) shapes.comparison(at, word);
            else if (isStep(word)) shapes.step(at);
          } else if (page >= firstPage) pages.add(at, page);
          break;
        }
        // Of the system.
        case 0x35: {
          const start = fieldsIn(word) === null ? null : functionAt.start(at);
          if (start !== null) asked.add(start);
        }
      }
    }
  });
  return {
    callersOf: calls.keysOf,
    /** Where code stands that may be a stub of a question, or the question itself. */
    mayBeQuestions: shapes.found,
    /** The starts of functions with an instruction that asks. */
    asked,
    /** The starts of functions that read an answer. `near` has the pages of answers, `isRead` is true for ADRP of an answer. */
    reading(near: ReadonlySet<number>, isRead: (at: number) => boolean): ReadonlySet<number> {
      const places = [...pages.keysOf(near)].filter(isRead);
      return new Set(places.flatMap((at) => functionAt.start(at) ?? []));
    },
  };
}

/** Calls use with the words of all code, and their address. */
function eachWindow(source: ByteSource, elf: Elf, use: (view: DataView, address: number) => void): void {
  withWindow((window) => {
    for (const { address, offset, size } of codeAreas(elf)) {
      const odd = -address & 3;
      for (let from = odd; from < size; from += window.length) {
        const length = Math.min(window.length, size - from);
        const bytes = source.readOver(offset + from, window.subarray(0, length));
        use(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), address + from);
      }
    }
  });
}

/** Data stands behind the code. */
function firstDataPage({ segments }: Elf): number {
  const isData = ({ type, flags }: ElfSegment) =>
    type === segmentType.load && (flags & writableSegment) !== 0;
  return Math.min(...segments.filter(isData).map(({ address }) => Math.floor(address / 4096)));
}

/** Pairs of numbers in two columns: a program has millions of calls. */
function pairColumns() {
  let [keys, values, count] = [new Float64Array(2 ** 12), new Float64Array(2 ** 12), 0];
  const longer = (column: Float64Array) => {
    const twice = new Float64Array(2 * column.length);
    twice.set(column);
    return twice;
  };
  return {
    add(key: number, value: number): void {
      if (count === keys.length) [keys, values] = [longer(keys), longer(values)];
      keys[count] = key;
      values[count++] = value;
    },
    /** The keys of some values. */
    keysOf(wanted: ReadonlySet<number>): ReadonlySet<number> {
      const found = new Set<number>();
      // A glance at some bits passes over most pairs.
      const glance = new Uint8Array(2 ** 16);
      for (const each of wanted) glance[(each >>> 2) & 0xffff] = 1;
      for (let index = 0; index < count && wanted.size > 0; index++) {
        const value = values[index] ?? 0;
        if (glance[(value >>> 2) & 0xffff] === 1 && wanted.has(value)) found.add(keys[index] ?? 0);
      }
      return found;
    },
  };
}

/** Finds the functions around places that mostly stand behind each other. */
function functionFinder(ranges: ReturnType<typeof readFunctionRanges>) {
  let [first, stop, isFunction] = [0, 0, false];
  return {
    /** null between functions. */
    start(at: number): number | null {
      if (at < first || at >= stop) {
        const index = ranges.firstFrom(at + 1) - 1;
        const start = index < 0 ? 0 : ranges.addressAt(index);
        const [end, next] = [start + ranges.sizeAt(index), ranges.addressAt(index + 1)];
        isFunction = index >= 0 && at < end;
        [first, stop] = isFunction ? [start, Math.min(end, next)] : [Math.max(0, end), next];
      }
      return isFunction ? first : null;
    },
    /** In the function of the last place. */
    isStill: (at: number) => at >= first && at < stop,
  };
}

/** Knows the shapes of stubs and of the C library's getauxval, and the addresses at which such code may begin. */
function questionShapes() {
  const found = new Set<number>();
  const [glibc, musl] = [16, 23];
  const last = new Map<number, number>();
  const addNear = (number: number, at: number, bytes: number) => {
    const compared = last.get(number) ?? Number.NEGATIVE_INFINITY;
    if (at - compared < bytes) for (let back = 0; back < 48; back += 4) found.add(compared - back);
  };
  return {
    found,
    comparison(at: number, word: number): void {
      const compared = comparedIn(word) ?? 0;
      last.set(compared, at);
      if (compared === 26) addNear(glibc, at, 48);
    },
    step: (at: number) => addNear(musl, at, longestAnswer),
    load(at: number): void {
      for (let back = 4; back <= mostStubBytes; back += 4) found.add(at - back);
    },
  };
}
