/** Whether a file is worth opening, by its first bytes. Without a decoder, which is loaded for files that are. */

import { isElf } from "./elf/elf.ts";
import { isContainer } from "./gpu/fatbin.ts";
import { readPtxText } from "./gpu/ptx-text.ts";

/** So many bytes tell it. */
export const headBytes = 4096;

/**
 * What nobody can read is told from so many bytes on. A shared library of one function by gcc 12, without libc and stripped, has 580 in
 * xz; short signatures and what tools leave at the end of a file have fewer.
 */
export const holdsCodeFrom = 512;

/** Whether a file that begins so holds code of its own. */
export function holdsCode(head: Uint8Array): boolean {
  return isElf(head) || isContainer(head) || readPtxText(head) !== null;
}
