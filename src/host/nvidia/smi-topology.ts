/** Reads the links of GPUs from the matrix of `nvidia-smi topo -m`. */

import { stripVTControlCharacters } from "node:util";

/** By the index of a GPU, those that NVLink joins to it; null where the matrix does not tell. */
export type SmiLinks = ReadonlyMap<number, readonly number[] | null>;

/**
 * A row and a column for each GPU, before those of network cards and affinities. `NV12` are twelve NVLinks; the other words name what of PCIe
 * lies between two GPUs, `SOC` and `PSB` in older programs.
 */
export function parseSmiLinks(text: string): SmiLinks {
  const rows = text.split("\n").map(wordsOf);
  const columns = (rows.find(([first]) => first === "GPU0") ?? []).flatMap(indexOf);
  const isRow = (row: readonly string[]) => /^(X|NV\d{1,3}|[A-Z]{3,4})$/.test(row[1] ?? "");
  return new Map(
    rows
      .filter(isRow)
      .flatMap(([name = "", ...cells]) =>
        indexOf(name).map((gpu) => [gpu, linksIn(cells, columns)] as const),
      ),
  );
}

/** The header is underlined, at a terminal and elsewhere. */
function wordsOf(line: string): readonly string[] {
  return stripVTControlCharacters(line).trim().split(/\s+/);
}

function indexOf(word: string): readonly number[] {
  const index = /^GPU(\d{1,3})$/.exec(word)?.[1];
  return index === undefined ? [] : [Number(index)];
}

function linksIn(cells: readonly string[], columns: readonly number[]): readonly number[] | null {
  if (cells.length < columns.length) return null;
  const words = columns.map((gpu, place) => ({ gpu, word: cells[place] ?? "" }));
  if (words.some(({ word }) => !/^(X|NV[1-9]\d{0,2}|SYS|NODE|PHB|PXB|PIX|SOC|PSB)$/.test(word))) return null;
  return words.flatMap(({ gpu, word }) => (word.startsWith("NV") ? [gpu] : []));
}
