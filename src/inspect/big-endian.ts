/** Numbers in bytes, highest byte first. A number that is not wholly there counts its missing bytes as 0. */

export function u16be(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

export function u32be(bytes: Uint8Array, at: number): number {
  return u16be(bytes, at) * 65536 + u16be(bytes, at + 2);
}
