/** Whether a file is worth opening, by its first bytes. Without a decoder, which is loaded for files that are. */

import { isElf } from "./elf/elf.ts";
import { isContainer } from "./gpu/fatbin.ts";
import { readPtxText } from "./gpu/ptx-text.ts";

/** So many bytes tell it. */
export const headBytes = 4096;

/**
 * What nobody can read is told from so many bytes on. One loop for AVX-512 in a shared library by gcc 12, stripped, has 1.4 KB in xz;
 * signatures and tails of linkers and packers have some hundred.
 */
export const holdsCodeFrom = 1024;

/** Whether a file that begins so holds code of its own. */
export function holdsCode(head: Uint8Array): boolean {
  return isElf(head) || isContainer(head) || readPtxText(head) !== null;
}
