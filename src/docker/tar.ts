/** Headers of a POSIX tar archive (IEEE Std 1003.1, pax, "ustar Interchange Format" and "pax Interchange Format"). */

export interface TarEntry {
  /** With forward slashes; a folder's ends with one. */
  readonly path: string;
  readonly type: "file" | "folder" | "link";
  /** Only for a link. */
  readonly target?: string;
  readonly mode: number;
  /** Bytes that follow the header. */
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
}

const blockSize = 512;
const typeFlags = { file: "0", link: "2", folder: "5", pax: "x" } as const;
/** Eleven octal digits: larger files need a pax record. */
const largestOctal = 8 ** 11 - 1;

/** Two empty blocks end an archive. */
export const endOfTar: Uint8Array = Buffer.alloc(2 * blockSize);

/** Zeros that fill the last block of `size` bytes. */
export function tarPadding(size: number): Uint8Array {
  return Buffer.alloc((blockSize - (size % blockSize)) % blockSize);
}

/** The header of an entry, with a pax header before it when a name or a size does not fit ustar. */
export function tarHeader(entry: TarEntry): Uint8Array {
  const records: Record<string, string> = {};
  if (!fits(entry.path, 100)) records.path = entry.path;
  if (entry.target !== undefined && !fits(entry.target, 100)) records.linkpath = entry.target;
  if (entry.size > largestOctal) records.size = String(entry.size);
  const header = ustar(entry, typeFlags[entry.type]);
  if (Object.keys(records).length === 0) return header;
  const body = Buffer.concat(Object.entries(records).map(([key, value]) => paxRecord(key, value)));
  const paxEntry = { ...entry, path: "@PaxHeader", mode: 0o644, size: body.length } as const;
  return Buffer.concat([
    ustar({ ...paxEntry, target: "" }, typeFlags.pax),
    body,
    tarPadding(body.length),
    header,
  ]);
}

function ustar({ path, target = "", mode, size, mtime }: TarEntry, type: string): Buffer {
  const header = Buffer.alloc(blockSize);
  header.set(Buffer.from(path).subarray(0, 100), 0);
  octal(header, mode, 100, 8);
  octal(header, 0, 108, 8); // uid
  octal(header, 0, 116, 8); // gid
  octal(header, Math.min(size, largestOctal), 124, 12);
  octal(header, mtime, 136, 12);
  header.fill(" ", 148, 156); // The checksum counts itself as spaces.
  header.write(type, 156);
  header.set(Buffer.from(target).subarray(0, 100), 157);
  header.write("ustar\u000000", 257);
  octal(header, 0, 329, 8); // device numbers
  octal(header, 0, 337, 8);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** `LENGTH KEY=VALUE\n`, where LENGTH counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const body = Buffer.from(` ${key}=${value}\n`);
  let length = body.length + 1;
  while (String(length).length + body.length !== length) length = String(length).length + body.length;
  return Buffer.concat([Buffer.from(String(length)), body]);
}

function octal(header: Buffer, value: number, at: number, width: number): void {
  header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at);
}

// Beyond ASCII ustar has no agreed encoding; a pax path is UTF-8 by definition.
function fits(text: string, bytes: number): boolean {
  return text.length <= bytes && /^[\x20-\x7e]*$/.test(text);
}
