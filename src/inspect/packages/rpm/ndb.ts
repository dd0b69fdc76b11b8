/** rpm's database of SUSE's distributions, `Packages.db`. Source: rpm, `lib/backend/ndb/rpmpkg.c`. */

import { u32 } from "../../little-endian.ts";
import { DamagedDatabase } from "./damaged-database.ts";

const magic = { file: 0x506d7052, slot: 0x746f6c53, header: 0x53626c42 } as const;
const blockSize = 16;
const pageSize = 4096;
/** The head of the file takes the place of two slots. */
const firstSlot = 32;

/** Throws `DamagedDatabase`. */
export function* ndbHeaders(bytes: Uint8Array): Generator<Uint8Array> {
  if (u32(bytes, 0) !== magic.file || u32(bytes, 4) !== 0) throw new DamagedDatabase("no ndb database");
  const end = u32(bytes, 12) * pageSize;
  if (end > bytes.length) throw new DamagedDatabase(`slots of ${end} bytes`);
  let total = 0;
  for (let slot = firstSlot; slot < end; slot += blockSize) {
    if (u32(bytes, slot) !== magic.slot) throw new DamagedDatabase(`no slot at ${slot}`);
    const [index, at] = [u32(bytes, slot + 4), u32(bytes, slot + 8) * blockSize];
    if (at === 0) continue;
    const length = u32(bytes, at + 12);
    total += length;
    if (u32(bytes, at) !== magic.header || u32(bytes, at + 4) !== index || total > bytes.length)
      throw new DamagedDatabase(`no package at ${at}`);
    yield bytes.subarray(at + blockSize, at + blockSize + length);
  }
}
