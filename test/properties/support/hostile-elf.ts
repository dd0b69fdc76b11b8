/** An ELF file of nothing but headers of sections and segments, each of which is the whole file. */

export interface HostileElf {
  /** The names and the types of sections, in turn. */
  readonly names: readonly string[];
  readonly types: readonly number[];
  readonly machine: number;
  readonly fill: Buffer;
}

const sectionBytes = 64;
const segmentBytes = 56;
const nameBytes = 1024;
const executable = 0x5;

/** Half of the file is headers of sections, an eighth headers of segments. */
export function hostileElf(size: number, { names, types, machine, fill }: HostileElf): Buffer {
  const bytes = Buffer.alloc(size, fill);
  const sections = Math.min(65_000, Math.floor(size / 2 / sectionBytes));
  const segments = Math.min(65_000, Math.floor(size / 8 / segmentBytes));
  const [sectionsAt, segmentsAt, namesAt] = [64, 64 + sections * sectionBytes, size - nameBytes];
  const nameAt = names.map((_, index) => 1 + names.slice(0, index).join("\0").length + Math.min(index, 1));
  bytes.fill(0, 0, segmentsAt + segments * segmentBytes);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  for (const [at, value] of [
    ...([
      [16, 3],
      [18, machine],
      [52, 64],
      [54, segmentBytes],
      [56, segments],
    ] as const),
    ...([
      [58, sectionBytes],
      [60, sections],
      [62, 0],
    ] as const),
  ])
    bytes.writeUInt16LE(value, at);
  bytes.writeBigUInt64LE(BigInt(segmentsAt), 32);
  bytes.writeBigUInt64LE(BigInt(sectionsAt), 40);
  for (let index = 0; index < sections; index++) {
    const at = sectionsAt + index * sectionBytes;
    const isNames = index === 0;
    bytes.writeUInt32LE(isNames ? 0 : (nameAt[index % names.length] ?? 0), at);
    bytes.writeUInt32LE(isNames ? 3 : (types[index % types.length] ?? 1), at + 4);
    bytes.writeBigUInt64LE(isNames ? 0n : 6n, at + 8);
    bytes.writeBigUInt64LE(BigInt(isNames ? namesAt : 0), at + 24);
    bytes.writeBigUInt64LE(BigInt(isNames ? nameBytes : size), at + 32);
    bytes.writeUInt32LE(1 + (index % (sections - 1)), at + 40);
  }
  for (let index = 0; index < segments; index++) {
    const at = segmentsAt + index * segmentBytes;
    // LOAD, DYNAMIC, NOTE.
    bytes.writeUInt32LE([1, 1, 2, 4][index % 4] ?? 1, at);
    bytes.writeUInt32LE(executable, at + 4);
    bytes.writeBigUInt64LE(BigInt(size), at + 32);
    bytes.writeBigUInt64LE(BigInt(size), at + 40);
  }
  bytes.fill(0, namesAt);
  bytes.write(`\0${names.join("\0")}`, namesAt);
  return bytes;
}
