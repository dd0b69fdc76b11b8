/** Containers of GPU code, as the layout describes them, for what no compiler can be made to write. */

export interface MadeEntry {
  readonly kind: number;
  readonly arch: number;
  readonly flags?: number;
  readonly version?: readonly [major: number, minor: number];
  readonly payload?: Uint8Array;
  readonly compressedSize?: number;
  /** A false length of the payload in the header. */
  readonly claimed?: number;
  readonly headerSize?: number;
}

export function makeEntry(entry: MadeEntry): Buffer {
  const { kind, arch, flags = 0x11, version = [8, 4], payload = new Uint8Array(16), headerSize = 64 } = entry;
  const padded = Math.ceil(payload.length / 8) * 8;
  const bytes = Buffer.alloc(Math.max(64, headerSize) + padded);
  bytes.writeUInt16LE(kind, 0);
  bytes.writeUInt16LE(0x101, 2);
  bytes.writeUInt32LE(headerSize, 4);
  bytes.writeBigUInt64LE(BigInt(entry.claimed ?? padded), 8);
  bytes.writeUInt32LE(entry.compressedSize ?? 0, 16);
  bytes.writeUInt16LE(version[1], 24);
  bytes.writeUInt16LE(version[0], 26);
  bytes.writeUInt32LE(arch, 28);
  bytes.writeBigUInt64LE(BigInt(flags), 40);
  bytes.set(payload, Math.max(64, headerSize));
  return bytes;
}

export function makeContainer(entries: readonly Uint8Array[], claimed?: number): Buffer {
  const body = Buffer.concat(entries);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(0xba55ed50, 0);
  head.writeUInt16LE(1, 4);
  head.writeUInt16LE(16, 6);
  head.writeBigUInt64LE(BigInt(claimed ?? body.length), 8);
  return Buffer.concat([head, body]);
}

/** An entry of kind 0x100 whose table holds these headers. */
export function makeConcatenated(nested: readonly MadeEntry[], tableSize?: number): Buffer {
  const headers = nested.map((entry) => makeEntry({ ...entry, payload: new Uint8Array(0) }));
  const table = Buffer.alloc(8);
  table.writeUInt32LE(nested.length, 0);
  table.writeUInt32LE(tableSize ?? 8 + 64 * nested.length, 4);
  const headerSize = 64 + 8 + 64 * nested.length;
  const entry = makeEntry({ kind: 0x100, arch: 0, flags: 0x8011, headerSize, compressedSize: 16 });
  entry.set(Buffer.concat([table, ...headers]), 64);
  return entry;
}

/** The header of machine code, as CUDA 12 and older write it: the toolkit stands in the version. */
export function makeCubin(arch: number, toolkit: number): Buffer {
  const header = Buffer.alloc(64);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x33, 7]);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(190, 18);
  header.writeUInt32LE(toolkit, 20);
  header.writeBigUInt64LE(64n, 40);
  header.writeUInt32LE(arch, 48);
  header.writeUInt16LE(64, 52);
  header.writeUInt16LE(64, 58);
  return header;
}
