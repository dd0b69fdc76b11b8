/** Decompresses LZ4 blocks without a frame, as fatbins hold them. Source: lz4 `doc/lz4_Block_format.md`. */

/** The longest block that holds so many bytes: `LZ4_compressBound` (lz4.h). */
export function lz4Bound(bytes: number): number {
  return bytes + Math.floor(bytes / 255) + 16;
}

/** Decompresses at most `limit` bytes; null if the input is no LZ4 block. */
export function decompressLz4(input: Uint8Array, limit: number): Uint8Array | null {
  const output = new Uint8Array(limit);
  const read = readBlock(input, limit, output);
  return read && output.subarray(0, read.filled);
}

/** The bytes of the block that unpacks to `plain` bytes; null if the input is no LZ4 block, or is cut off. */
export function lz4Length(input: Uint8Array, plain: number): number | null {
  const read = readBlock(input, plain, null);
  return read?.filled === plain ? read.used : null;
}

function readBlock(
  input: Uint8Array,
  limit: number,
  output: Uint8Array | null,
): { readonly filled: number; readonly used: number } | null {
  let at = 0;
  let filled = 0;
  /** A length of 15 goes on in further bytes until one is not 255. */
  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    for (let more = nibble === 15; more; ) {
      const byte = input[at++] ?? 0;
      length += byte;
      more = byte === 255;
    }
    return length;
  };
  while (at < input.length && filled < limit) {
    const token = input[at++] ?? 0;
    const literals = lengthFrom(token >> 4);
    const copied = Math.min(literals, limit - filled, input.length - at);
    output?.set(input.subarray(at, at + copied), filled);
    filled += copied;
    at += literals;
    if (filled === limit || at === input.length) break;
    if (at + 2 > input.length) return null;
    const distance = (input[at] ?? 0) | ((input[at + 1] ?? 0) << 8);
    at += 2;
    if (distance === 0 || distance > filled) return null;
    const stop = Math.min(limit, filled + lengthFrom(token & 15) + 4);
    if (output === null) filled = stop;
    // Byte by byte, as the source may overlap its copy.
    else for (; filled < stop; filled++) output[filled] = output[filled - distance] ?? 0;
  }
  return { filled, used: Math.min(at, input.length) };
}
