/** Code objects, bundles and wrappers of AMD GPU code, as LLVM's documents describe them, for what no compiler can be made to write. */

import { deflateSync } from "node:zlib";

/** The header alone of one, and as many zeros as a test wants. */
export function makeCodeObject(
  flags: number,
  {
    abiVersion = 4,
    osAbi = 64,
    type = 3,
    machine = 224,
    size = 128,
  }: {
    readonly abiVersion?: number;
    readonly osAbi?: number;
    readonly type?: number;
    readonly machine?: number;
    readonly size?: number;
  } = {},
): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, osAbi, abiVersion]);
  bytes.writeUInt16LE(type, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeUInt32LE(flags, 48);
  return bytes;
}

export interface MadeEntry {
  readonly id: string;
  readonly bytes?: Uint8Array;
  /** A false claim of the table. */
  readonly offset?: number;
  readonly size?: number;
}

const host = { id: "host-x86_64-unknown-linux-gnu-" };

/** A plain bundle with its host entry, objects on multiples of `align`. */
export function makeBundle(
  entries: readonly MadeEntry[],
  { align = 4096, count }: { readonly align?: number; readonly count?: number } = {},
): Buffer {
  const all = [host, ...entries] as readonly MadeEntry[];
  const up = (at: number) => Math.ceil(at / align) * align;
  const table = 32 + all.reduce((sum, { id }) => sum + 24 + id.length, 0);
  const head = Buffer.alloc(up(table));
  head.write("__CLANG_OFFLOAD_BUNDLE__", 0, "latin1");
  head.writeBigUInt64LE(BigInt(count ?? all.length), 24);
  const objects: Buffer[] = [];
  let [at, next] = [32, head.length];
  for (const { id, bytes = new Uint8Array(0), offset, size } of all) {
    head.writeBigUInt64LE(BigInt(offset ?? next), at);
    head.writeBigUInt64LE(BigInt(size ?? bytes.length), at + 8);
    head.writeBigUInt64LE(BigInt(id.length), at + 16);
    head.write(id, at + 24, "latin1");
    at += 24 + id.length;
    const object = Buffer.alloc(up(bytes.length));
    object.set(bytes);
    objects.push(object);
    next += object.length;
  }
  return Buffer.concat([head, ...objects]);
}

/** The bundle compressed, with the header of this version. `plainSize` and `totalSize` are what it claims. */
export function makeCompressed(
  plain: Uint8Array,
  version: 1 | 2 | 3,
  claims: { readonly plainSize?: number; readonly totalSize?: number; readonly packed?: Uint8Array } = {},
): Buffer {
  const packed = claims.packed ?? deflateSync(plain);
  const plainSize = claims.plainSize ?? plain.length;
  const head = Buffer.alloc({ 1: 20, 2: 24, 3: 32 }[version]);
  const totalSize = claims.totalSize ?? head.length + packed.length;
  head.write("CCOB", 0, "latin1");
  head.writeUInt16LE(version, 4);
  head.writeUInt16LE(packed[0] === 0x28 ? 1 : 0, 6);
  if (version === 1) head.writeUInt32LE(plainSize, 8);
  if (version === 2) {
    head.writeUInt32LE(totalSize, 8);
    head.writeUInt32LE(plainSize, 12);
  }
  if (version === 3) {
    head.writeBigUInt64LE(BigInt(totalSize), 8);
    head.writeBigUInt64LE(BigInt(plainSize), 16);
  }
  return Buffer.concat([head, packed]);
}

export interface MadeSection {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A library of these sections, which are loaded, and of no code. `machine` is x86-64, or another of `elfMachine`. */
export function makeProgram(sections: readonly MadeSection[], machine = 62): Buffer {
  const all = [...sections, { name: ".shstrtab", bytes: new Uint8Array(0) }];
  const names = Buffer.from(`\0${all.map(({ name }) => name).join("\0")}\0`);
  const contents = all.map(({ name, bytes }) => (name === ".shstrtab" ? names : Buffer.from(bytes)));
  const head = Buffer.alloc(64);
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  head.writeUInt16LE(3, 16);
  head.writeUInt16LE(machine, 18);
  head.writeBigUInt64LE(BigInt(64 + contents.reduce((sum, { length }) => sum + length, 0)), 40);
  head.writeUInt16LE(64, 58);
  head.writeUInt16LE(all.length + 1, 60);
  head.writeUInt16LE(all.length, 62);
  let at = head.length;
  const table = all.map(({ name }, index) => {
    const row = Buffer.alloc(64);
    const length = contents[index]?.length ?? 0;
    row.writeUInt32LE(names.indexOf(`${name}\0`), 0);
    row.writeUInt32LE(1, 4);
    row.writeBigUInt64LE(name === ".text" ? 6n : 2n, 8);
    row.writeBigUInt64LE(BigInt(at), 24);
    row.writeBigUInt64LE(BigInt(length), 32);
    at += length;
    return row;
  });
  return Buffer.concat([head, ...contents, Buffer.alloc(64), ...table]);
}
