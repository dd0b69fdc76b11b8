/** LZ4 blocks without a frame, as fat binaries hold them. Source: lz4 `doc/lz4_Block_format.md`. */

/** So many bytes of input at most make so many of output: `LZ4_compressBound` (lz4.h). */
export function lz4Bound(bytes: number): number {
  return bytes + Math.floor(bytes / 255) + 16;
}

/**
 * Decompresses until the input ends or `limit` bytes are there, so that the beginning alone costs little; null for what is no
 * LZ4 block.
 */
export function decompressLz4(input: Uint8Array, limit: number): Uint8Array | null {
  const output = new Uint8Array(limit);
  let at = 0;
  let filled = 0;
  /** Lengths of 15 go on in further bytes, as long as these are 255. */
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
    output.set(input.subarray(at, at + copied), filled);
    filled += copied;
    at += literals;
    if (filled === limit || at === input.length) break;
    if (at + 2 > input.length) return null;
    const distance = (input[at] ?? 0) | ((input[at + 1] ?? 0) << 8);
    at += 2;
    if (distance === 0 || distance > filled) return null;
    const stop = Math.min(limit, filled + lengthFrom(token & 15) + 4);
    // Byte by byte: what is copied may be what was just written.
    for (; filled < stop; filled++) output[filled] = output[filled - distance] ?? 0;
  }
  return output.subarray(0, filled);
}
