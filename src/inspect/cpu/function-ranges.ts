/** Lists the functions of a file by address and length, in columns: a library has a million, and a hostile file more. */

import { type ByteSource, ownPages } from "../byte-source.ts";
import { readEhFrame } from "../elf/eh-frame.ts";
import { type Elf, sectionType } from "../elf/elf.ts";
import { readSymbols, symbolType } from "../elf/symbols.ts";

/** The largest library that was seen has one million. More count as code outside functions. */
export const maxFunctions = 4_000_000;

/** Reads unwinding data, which survives `strip`, and symbols. Sorted by address; of functions with one address the longest counts. */
export function readFunctionRanges(source: ByteSource, elf: Elf) {
  return collectRanges(mostRanges(elf), (add) => {
    const unwinding = elf.sections.find(({ name }) => name === ".eh_frame");
    if (unwinding !== undefined) readEhFrame(source, unwinding, add);
    for (const table of ["symbols", "dynamicSymbols"] as const)
      for (const { type, address, size, isImport } of readSymbols(source, elf, table))
        if (!isImport && (type === symbolType.function || type === symbolType.indirectFunction))
          add(address, size);
  });
}

/** Sorts the ranges that `tell` adds, at most so many. */
export function collectRanges(most: number, tell: (add: (address: number, size: number) => void) => void) {
  const found = createColumns(most);
  tell(found.add);
  return longestOf(found.addresses(), found.sizes());
}

/** Length, pointer, address and size of a record of unwinding data (LSB Core, "Exception Frames"), with the shortest encoding. */
const shortestRecord = 12;

/** Symbols are longer than records. */
function mostRanges({ sections }: Elf): number {
  const tables = sections.filter(
    ({ name, type }) =>
      name === ".eh_frame" || type === sectionType.symbols || type === sectionType.dynamicSymbols,
  );
  return Math.min(maxFunctions, Math.ceil(tables.reduce((sum, { size }) => sum + size, 0) / shortestRecord));
}

/** Untouched parts of a column take no memory. */
function createColumns(most: number) {
  const addresses = new Float64Array(ownPages(8 * most));
  const sizes = new Float64Array(ownPages(8 * most));
  let count = 0;
  return {
    add(address: number, size: number) {
      if (size <= 0 || count === most) return;
      addresses[count] = address;
      sizes[count++] = size;
    },
    addresses: () => addresses.subarray(0, count),
    sizes: () => sizes.subarray(0, count),
  };
}

function longestOf(addresses: Float64Array, sizes: Float64Array) {
  const starts = addresses.slice().sort();
  let count = 0;
  for (let index = 0; index < starts.length; index++) {
    const start = starts[index] ?? 0;
    if (count === 0 || start !== starts[count - 1]) starts[count++] = start;
  }
  const firstFrom = (address: number) => {
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) < address) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const longest = new Float64Array(count);
  let place = -1;
  for (let index = 0; index < addresses.length; index++) {
    const address = addresses[index] ?? 0;
    // Most tables are in order, or nearly.
    place = starts[place + 1] === address && place + 1 < count ? place + 1 : firstFrom(address);
    const size = sizes[index] ?? 0;
    if (size > (longest[place] ?? 0)) longest[place] = size;
  }
  return {
    count,
    /** Infinity for a range that does not exist. */
    addressAt: (index: number) => (index < count ? (starts[index] ?? 0) : Number.POSITIVE_INFINITY),
    sizeAt: (index: number) => longest[index] ?? 0,
    /** The index of the first range from an address on. */
    firstFrom,
  };
}
