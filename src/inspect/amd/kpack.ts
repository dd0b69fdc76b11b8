/**
 * Finds references to archives of GPU code beside a program (`.kpack`, from ROCm 7.14 on), whose own bundles are then empty. The archives
 * are not read. Source: ROCm/TheRock, docs of rocm-kpack: `.rocm_kpack_ref` holds MessagePack with `kpack_search_paths`.
 */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";

const referenceSection = ".rocm_kpack_ref";
const wrapperSection = ".hipFatBinSegment";
const wrapperBytes = 24;
/** `HIPK` in place of `HIPF`. */
const kpackWrapper = 0x4b504948;
const maxRead = 2 ** 16;

/** The reason why a program's GPU code is elsewhere; null if it has no such reference. */
export function archivesBeside(source: ByteSource, elf: Elf | null): string | null {
  const bytesOf = (wanted: string) => {
    const section = elf?.sections.find(({ name, size }) => name === wanted && size > 0);
    return section && source.read(section.offset, Math.min(section.size, maxRead));
  };
  const reference = bytesOf(referenceSection);
  const paths = reference === undefined ? [] : [...new Set(pathsIn(reference))].sort();
  if (reference === undefined && !hasWrapper(bytesOf(wrapperSection))) return null;
  return `its GPU code is in archives beside it, which are not read${paths.length === 0 ? "" : `: ${paths.join(", ")}`}`;
}

function hasWrapper(wrappers: Uint8Array | undefined): boolean {
  for (let at = 0; wrappers !== undefined && at < wrappers.length; at += wrapperBytes)
    if (u32(wrappers, at) === kpackWrapper) return true;
  return false;
}

/** Reads short strings of MessagePack: their length stands in the first byte, or behind 0xd9. */
function* pathsIn(bytes: Uint8Array): Generator<string> {
  for (let at = 0; at < bytes.length; at++) {
    const first = bytes[at] ?? 0;
    const [start, length] = first === 0xd9 ? [at + 2, bytes[at + 1] ?? 0] : [at + 1, first & 0x1f];
    if (first !== 0xd9 && first >> 5 !== 5) continue;
    const text = Buffer.from(bytes.subarray(start, start + length)).toString("latin1");
    if (text.length === length && /^[\w@./+-]+\.kpack$/.test(text)) yield text;
  }
}
