/** Reads numbers, lowest byte first. Missing bytes count as 0: callers check the length. */

export function u16(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

export function u32(bytes: Uint8Array, at: number): number {
  return (u16(bytes, at) | (u16(bytes, at + 2) << 16)) >>> 0;
}

/** Numbers beyond 2^53 are not exact. Such numbers are larger than every file, so comparisons with a size refuse them. */
export function u64(bytes: Uint8Array, at: number): number {
  return u32(bytes, at) + u32(bytes, at + 4) * 2 ** 32;
}

/** The text up to the first zero byte, at most `limit` bytes. Latin-1, as names may have any bytes. */
export function textAt(bytes: Uint8Array, at: number, limit = 4096): string {
  if (at < 0 || at >= bytes.length) return "";
  const end = bytes.indexOf(0, at);
  const stop = Math.min(end === -1 ? bytes.length : end, at + limit);
  return Buffer.from(bytes.buffer, bytes.byteOffset + at, stop - at).toString("latin1");
}

/** Highest byte first. */
export function u16be(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

export function u32be(bytes: Uint8Array, at: number): number {
  return u16be(bytes, at) * 65536 + u16be(bytes, at + 2);
}
