/** MessagePack of plain values, for what AMD's writer cannot be made to write. */

export function packed(value: unknown): Buffer {
  if (typeof value === "string") return packedText(value);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(9, 0xcf);
    bytes.writeBigUInt64BE(BigInt(value), 1);
    return bytes;
  }
  if (Array.isArray(value)) return Buffer.concat([headed(0xdd, value.length), ...value.map(packed)]);
  if (typeof value !== "object" || value === null) return Buffer.of(0xc0);
  const entries = Object.entries(value);
  return Buffer.concat([headed(0xdf, entries.length), ...entries.flat().map(packed)]);
}

export function packedText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([headed(0xdb, bytes.length), bytes]);
}

function headed(kind: number, length: number): Buffer {
  const bytes = Buffer.alloc(5, kind);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/** The section `.rocm_kpack_ref`, padded as a page is. */
export function reference(name: string, paths: readonly string[]): Buffer {
  return Buffer.concat([packed({ kernel_name: name, kpack_search_paths: paths }), Buffer.alloc(100)]);
}
