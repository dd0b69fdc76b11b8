/** Cuts the executable bytes of a file into regions: functions, gaps between them, and executable bytes outside code sections. */

import {
  codeSegments,
  type Elf,
  type ElfSection,
  type ElfSegment,
  executableSection,
  sectionType,
  writableSegment,
} from "../elf/elf.ts";
import type { readFunctionRanges } from "./function-ranges.ts";

/** Bytes of the file. */
export interface Place {
  readonly offset: number;
  readonly size: number;
}

export interface CodeRegion extends Place {
  readonly kind: RegionKind;
}

/**
 * Executable sections have `function` and `gap` regions; a gap may be code or data. `stray` bytes stand outside these sections, in an
 * executable segment, and may be code. So do `constants`, which linkers without `-z separate-code` put there as they are read-only.
 */
export type RegionKind = "function" | "gap" | "stray" | "constants";

/**
 * Bytes outside functions are counted in blocks. A block of a gap with a byte that is no instruction may be data; such a block of constants
 * is data. One block in 300 of 256 random bytes has only instructions.
 */
export const blockBytes: Readonly<Record<RegionKind, number>> = {
  function: Number.POSITIVE_INFINITY,
  gap: 4096,
  stray: 4096,
  constants: 256,
};

/** A place, and where it stands in memory. */
export interface CodeArea extends Place {
  readonly address: number;
}

interface Area extends CodeArea {
  /** The kind of its bytes outside functions. */
  readonly kind: Exclude<RegionKind, "function">;
}

/** In the order of the file. Each byte is in one region, and a region ends where a function begins. */
export function* codeRegions(
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
): Generator<CodeRegion> {
  for (const area of executableAreas(elf)) {
    const end = area.address + area.size;
    const region = (from: number, to: number, isFunction: boolean): CodeRegion => ({
      offset: area.offset + (from - area.address),
      size: to - from,
      kind: !isFunction ? area.kind : area.kind === "gap" ? "function" : "stray",
    });
    let at = area.address;
    for (let index = functions.firstFrom(area.address); index < functions.count; index++) {
      const address = functions.addressAt(index);
      if (address >= end) break;
      if (address > at) yield region(at, address, false);
      // A function may begin inside another, which then goes on behind it.
      const next = Math.min(functions.addressAt(index + 1), end);
      const stop = Math.min(address + functions.sizeAt(index), next);
      if (stop > Math.max(at, address)) yield region(Math.max(at, address), stop, true);
      at = Math.max(at, stop);
    }
    if (at < end) yield region(at, end, false);
  }
}

/** Where calls may stand: an executable segment of NVIDIA's libraries is mostly constants and code for GPUs. */
export function codeAreas(elf: Elf): readonly CodeArea[] {
  return executableAreas(elf).filter(({ kind }) => kind !== "constants");
}

/** Sections with code, and the other bytes of executable segments. No byte is in two areas. */
function executableAreas(elf: Elf): readonly Area[] {
  const segments = disjoint(codeSegments(elf));
  if (elf.sections.length === 0) return segments.map((segment) => ({ ...segment, kind: "gap" }));
  const inFile = elf.sections.filter(({ type }) => type !== sectionType.noContent);
  const isCode = ({ flags }: ElfSection) => (flags & executableSection) !== 0;
  const code = disjoint(inFile.filter(isCode)).map((section): Area => ({ ...section, kind: "gap" }));
  // The header and its tables are no code.
  const tables = elf.tables.map((table) => ({ ...table, name: "", type: sectionType.none, address: 0 }));
  const known = disjoint([...inFile.filter((section) => !isCode(section)), ...tables]);
  const beside = split(segments, code).flatMap(([part, section]) => (section === null ? [part] : []));
  const stray = split(beside, known).flatMap(([part, section]): Area[] => {
    const kind = section === null ? "stray" : kindOf(section, part);
    return kind === null ? [] : [{ ...part, kind }];
  });
  return [...code, ...stray].sort((a, b) => a.offset - b.offset);
}

/** Unwinding data, and GPU code, which is searched elsewhere. */
const noCode = /^(\.eh_frame|\.gcc_except_table|\.interp$|\.nv|__nv_|\.cask_resource$|\.hip)/;

/** null for sections that are no code: symbols, relocations, notes. */
function kindOf(
  { type, name }: Pick<ElfSection, "type" | "name">,
  segment: ElfSegment,
): "stray" | "constants" | null {
  if (type !== sectionType.program || noCode.test(name)) return null;
  return (segment.flags & writableSegment) === 0 ? "constants" : "stray";
}

/** Sorted by their places in the file, each without the bytes of an earlier one. */
function disjoint<Each extends CodeArea>(places: readonly Each[]): readonly Each[] {
  const cut: Each[] = [];
  let done = 0;
  for (const each of [...places].sort((a, b) => a.offset - b.offset)) {
    const end = each.offset + each.size;
    if (end > Math.max(done, each.offset)) cut.push(partOf(each, Math.max(done, each.offset), end));
    done = Math.max(done, end);
  }
  return cut;
}

/**
 * Splits places at the borders of a second list, and names the place of the second list that holds each part. Both lists are sorted and
 * disjoint.
 */
function split<Each extends CodeArea, Other extends CodeArea>(
  places: readonly Each[],
  others: readonly Other[],
): (readonly [Each, Other | null])[] {
  const parts: (readonly [Each, Other | null])[] = [];
  let index = 0;
  for (const each of places) {
    const end = each.offset + each.size;
    for (let at = each.offset; at < end; ) {
      const other = others[index];
      if (other !== undefined && other.offset + other.size <= at) {
        index++;
        continue;
      }
      const isIn = other !== undefined && other.offset <= at;
      const stop = Math.min(end, isIn ? other.offset + other.size : (other?.offset ?? end));
      parts.push([partOf(each, at, stop), isIn ? other : null]);
      at = stop;
    }
  }
  return parts;
}

function partOf<Each extends CodeArea>(place: Each, from: number, to: number): Each {
  return { ...place, address: place.address + (from - place.offset), offset: from, size: to - from };
}
