/** Whether a file is worth opening, by its first bytes. Without a decoder, which is loaded for files that are. */

import { isElf } from "./elf/elf.ts";
import { isContainer } from "./gpu/fatbin.ts";
import { readPtxText } from "./gpu/ptx-text.ts";

/** So many bytes tell it. */
export const headBytes = 4096;

/** Whether a file that begins so holds code of its own. */
export function holdsCode(head: Uint8Array): boolean {
  return isElf(head) || isContainer(head) || readPtxText(head) !== null;
}
