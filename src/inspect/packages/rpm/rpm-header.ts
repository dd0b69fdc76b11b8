/**
 * Reads the header of an installed package: name, vendor, and files with checksums. Source: rpm, `docs/manual/hregions.md`,
 * `format_header.md`.
 */

import { u32be } from "../../little-endian.ts";

const tag = {
  name: 1000,
  vendor: 1011,
  architecture: 1022,
  digests: 1035,
  folderIndexes: 1116,
  baseNames: 1117,
  folders: 1118,
  algorithm: 5011,
} as const;

const type = { int32: 4, string: 6, strings: 8, translated: 9 } as const;

/** By their numbers in OpenPGP (RFC 4880, 9.4). Longer checksums are not computed here. */
const algorithms: Readonly<Record<number, readonly [string, RegExp]>> = {
  1: ["md5", /^[0-9a-f]{32}$/],
  2: ["sha1", /^[0-9a-f]{40}$/],
  8: ["sha256", /^[0-9a-f]{64}$/],
};

const md5 = 1;

/** `PATH_MAX`. */
const maxPath = 4096;

/** null for another value: databases hold several kinds. */
export function readRpmHeader(bytes: Uint8Array) {
  const [count, size] = [u32be(bytes, 0), u32be(bytes, 4)];
  const dataAt = 8 + 16 * count;
  if (count === 0 || dataAt + size > bytes.length) return null;
  const data = bytes.subarray(dataAt, dataAt + size);
  const find = (wanted: number): Entry | null => {
    for (let at = 8; at < dataAt; at += 16)
      if (u32be(bytes, at) === wanted)
        return { type: u32be(bytes, at + 4), at: u32be(bytes, at + 8), count: u32be(bytes, at + 12) };
    return null;
  };
  const text = (wanted: number) => strings(data, find(wanted), 1)[0] ?? "";
  const name = text(tag.name);
  const architecture = text(tag.architecture);
  return {
    /** `glibc.x86_64`. */
    name: architecture === "" ? name : `${name}.${architecture}`,
    vendor: text(tag.vendor),
    /** Path without a leading slash, and `sha256:…`, `sha1:…` or `md5:…`. */
    *files(): Generator<readonly [string, string]> {
      const [algorithm, pattern] = algorithms[number(data, find(tag.algorithm), 0) ?? md5] ?? [];
      if (pattern === undefined) return;
      const folders = strings(data, find(tag.folders));
      const digests = strings(data, find(tag.digests));
      const indexes = find(tag.folderIndexes);
      for (const [index, base] of strings(data, find(tag.baseNames)).entries()) {
        const folder = folders[number(data, indexes, index) ?? -1];
        const digest = digests[index] ?? "";
        // Folders and links have none.
        if (folder === undefined || !pattern.test(digest) || folder.length + base.length > maxPath) continue;
        yield [`${folder}${base}`.replace(/^\/+/, ""), `${algorithm}:${digest}`];
      }
    },
  };
}

interface Entry {
  readonly type: number;
  readonly at: number;
  readonly count: number;
}

function number(data: Uint8Array, entry: Entry | null, index: number): number | null {
  if (entry === null || entry.type !== type.int32 || index >= entry.count) return null;
  const at = entry.at + 4 * index;
  return at + 4 > data.length ? null : u32be(data, at);
}

/** Each ends with a zero byte. */
function strings(data: Uint8Array, entry: Entry | null, most = Number.POSITIVE_INFINITY): string[] {
  const kinds: readonly number[] = [type.string, type.strings, type.translated];
  if (entry === null || !kinds.includes(entry.type)) return [];
  const found: string[] = [];
  for (let at = entry.at; at < data.length && found.length < Math.min(most, entry.count); ) {
    const end = data.indexOf(0, at);
    if (end === -1) break;
    found.push(Buffer.from(data.subarray(at, end)).toString("utf8"));
    at = end + 1;
  }
  return found;
}

/** The database is not of its kind: its content is unknown. */
export class DamagedDatabase extends Error {
  override readonly name = "DamagedDatabase";
}

export interface PagedDatabase {
  readonly bytes: Uint8Array;
  readonly pageSize: number;
  readonly visit: (page: number) => void;
}

/** Throws for a page that is visited twice: the database leads in circles. */
export function eachPageOnce(count: number): (page: number) => void {
  const seen = new Set<number>();
  return (page) => {
    if (page < 1 || page > count || seen.has(page)) throw new DamagedDatabase(`page ${page} of ${count}`);
    seen.add(page);
  };
}
