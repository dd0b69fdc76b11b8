/** A process that searches a library of 500 MB, made as it is read, for GPU code alone, and prints as JSON what it found and its most memory in MB. */

import { readFileSync } from "node:fs";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { gpuFile } from "../inspect/support/make-image.ts";

const MiB = 2 ** 20;
const size = 500 * MiB;
const repeatedBytes = 8 * MiB;
const program = readFileSync("/bin/true");

/** Header of a block of zstd (RFC 8878, 3.1.1.2). */
function block(kind: 0 | 1, length: number, isLast = false): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntLE((length << 3) | (kind << 1) | Number(isLast), 0, 3);
  return head;
}

/** A cubin of 15 MB, of which the header does not tell all: compressed to a few hundred bytes. */
function largeCubin(): Buffer {
  const cubin = Buffer.alloc(64);
  cubin.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0x41, 8]);
  cubin.writeUInt16LE(2, 16);
  cubin.writeUInt16LE(190, 18);
  cubin.writeUInt32LE(90 << 8, 48);
  cubin.writeUInt16LE(64, 58);
  const zeros = Array.from({ length: 118 }, (_, index) =>
    Buffer.concat([block(1, 2 ** 17, index === 117), Buffer.of(0)]),
  );
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]), block(0, 64), cubin, ...zeros]);
}

const tail = Buffer.alloc(repeatedBytes);
tail.set(gpuFile(80), 4096);
tail.set(largeCubin(), MiB);

/** The program, and behind it the same bytes again and again. */
function read(at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - at)));
  for (let filled = 0; filled < bytes.length; ) {
    const place = at + filled;
    const from = place < program.length ? program : tail;
    const start = place < program.length ? place : (place - program.length) % tail.length;
    filled += from.copy(bytes, filled, start);
  }
  return bytes;
}

const source = {
  size,
  read,
  readOver(at: number, buffer: Uint8Array) {
    const bytes = read(at, buffer.length);
    buffer.set(bytes);
    return buffer.subarray(0, bytes.length);
  },
};
const found = await inspectFile(source, false, true);
const status = readFileSync("/proc/self/status", "utf8");
console.log(
  JSON.stringify({
    targets: found?.gpu?.targets,
    cpu: found?.cpu,
    damage: found?.gpu?.damage,
    peakMegabytes: (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 10 ** 6,
  }),
);
