/** Zip archives as wheels are, their entries stored. */

import type { MadeFile } from "./make-image.ts";

export function makeZip(files: readonly MadeFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { path, content = Buffer.alloc(0) } of files) {
    const name = Buffer.from(path);
    const local = record(0x04034b50, 30, { 18: content.length, 22: content.length, 26: name.length });
    parts.push(local, name, Buffer.from(content));
    directory.push(
      record(0x02014b50, 46, { 20: content.length, 24: content.length, 28: name.length, 42: at }),
      name,
    );
    at += local.length + name.length + content.length;
  }
  const index = Buffer.concat(directory);
  const end = record(0x06054b50, 22, { 8: files.length, 10: files.length, 12: index.length, 16: at });
  return Buffer.concat([...parts, index, end]);
}

/** A record of the format: its signature, and numbers by offset. A number of two bytes is below 65,536, and the next one follows it. */
function record(signature: number, size: number, numbers: Readonly<Record<number, number>>): Buffer {
  const bytes = Buffer.alloc(size);
  for (const [at, number] of Object.entries({ 0: signature, ...numbers }))
    bytes.writeUInt32LE(number, Number(at));
  return bytes;
}
