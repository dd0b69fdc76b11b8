/** Reads MessagePack from outside, within bounds (msgpack specification, `spec.md`): maps, lists, texts, whole numbers, true, false, nil. */

import { u16be, u32be } from "../little-endian.ts";

export type Packed = string | number | boolean | null | readonly Packed[] | ReadonlyMap<string, Packed>;

/** Deeper than any archive's table, which has five. */
const maxDepth = 16;
/** Each takes a byte at least, and some 50 in memory. A table of 2,000 programs with 40 targets each has 600,000. */
const maxValues = 4_000_000;

class NotUnderstood extends Error {}

/** The value that the bytes begin with; null for bytes that are none, or that hold another kind of value. */
export function readMessagePack(bytes: Uint8Array): { readonly value: Packed } | null {
  let at = 0;
  let values = 0;
  const take = (length: number): number => {
    const start = at;
    at += length;
    if (at > bytes.length) throw new NotUnderstood();
    return start;
  };
  const number = (length: number): number => {
    const start = take(length);
    if (length === 1) return bytes[start] ?? 0;
    if (length === 2) return u16be(bytes, start);
    return length === 4 ? u32be(bytes, start) : u32be(bytes, start) * 2 ** 32 + u32be(bytes, start + 4);
  };
  const text = (length: number): string => {
    const start = take(length);
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, length).toString("utf8");
  };
  const list = (length: number, depth: number): Packed[] => {
    // Each value takes a byte at least.
    if (length > bytes.length - at) throw new NotUnderstood();
    return Array.from({ length }, () => read(depth + 1));
  };
  const map = (length: number, depth: number): Packed => {
    const found = new Map<string, Packed>();
    for (let left = length; left > 0; left--) {
      const key = read(depth + 1);
      if (typeof key !== "string" || found.has(key)) throw new NotUnderstood();
      found.set(key, read(depth + 1));
    }
    return found;
  };
  const read = (depth: number): Packed => {
    if (depth > maxDepth || ++values > maxValues) throw new NotUnderstood();
    const first = bytes[take(1)] ?? 0;
    if (first < 0x80) return first;
    if (first < 0x90) return map(first & 0x0f, depth);
    if (first < 0xa0) return list(first & 0x0f, depth);
    if (first < 0xc0) return text(first & 0x1f);
    if (first === 0xc0) return null;
    if (first === 0xc2 || first === 0xc3) return first === 0xc3;
    if (first >= 0xcc && first <= 0xcf) return number(2 ** (first - 0xcc));
    if (first >= 0xd9 && first <= 0xdb) return text(number(2 ** (first - 0xd9)));
    if (first === 0xdc || first === 0xdd) return list(number(first === 0xdc ? 2 : 4), depth);
    if (first === 0xde || first === 0xdf) return map(number(first === 0xde ? 2 : 4), depth);
    throw new NotUnderstood();
  };
  try {
    return { value: read(0) };
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
}

export function isMap(value: Packed | undefined): value is ReadonlyMap<string, Packed> {
  return value instanceof Map;
}
