/**
 * `CPU implementer` and `CPU part` of an AArch64 `/proc/cpuinfo` → names.
 * Sources: Linux arch/arm64/include/asm/cputype.h; util-linux sys-utils/lscpu-arm.c.
 */

import table from "./arm-parts.json" with { type: "json" };

interface Implementer {
  readonly vendor: string;
  readonly parts?: Readonly<Record<string, string>>;
}

const implementers: Readonly<Record<string, Implementer>> = table.implementers;

/** The vendor's name, or the implementer as printed (`0x99`) when it is not in the table. */
export function armVendorName(implementer: string): string {
  return own(implementers, implementer)?.vendor ?? implementer;
}

/** The core's name, or the part as printed when it is not in the table. */
export function armPartName(implementer: string, part: string): string {
  return own(own(implementers, implementer)?.parts ?? {}, part) ?? part;
}

function own<T>(table: Readonly<Record<string, T>>, printed: string): T | undefined {
  const key = printed.toLowerCase();
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
