/** The readers of outside text, each with texts that are hard for it. */

import { fileReaders } from "./files-readers.ts";
import { hostReaders } from "./host-readers.ts";
import { matrixReaders } from "./matrix-readers.ts";
import { wordReaders } from "./words-readers.ts";

export const readers = { ...matrixReaders, ...fileReaders, ...hostReaders, ...wordReaders };
