/** AMD's GPU targets: family, generic target, and number in code objects. */

import table from "./amd-architectures.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

/** A GPU target. null: no source tells. */
export interface AmdArchitecture extends SourcedRow {
  /** The compiler's name: `gfx90a`. */
  readonly name: string;
  /** AMD's name of the generation: `CDNA 2`. */
  readonly family: string;
  /** Part of a processor, and not a card. */
  readonly integrated: boolean | null;
  /** The generic target that includes it; null if none does. */
  readonly generic: string | null;
  /** True if code can be compiled for one state of the feature alone. */
  readonly xnack: boolean | null;
  readonly sramecc: boolean | null;
  /** `EF_AMDGPU_MACH_*`, in hexadecimal: `0x3f`. */
  readonly machine: string;
}

export interface AmdGeneric extends SourcedRow {
  readonly name: string;
  readonly machine: string;
  /** The newest version of it that was read; null where none was. */
  readonly version: number | null;
}

/** Sorted by name. */
export const amdArchitectures = readRows<AmdArchitecture>(table.architectures);

/** Sorted by name. The members are the architectures that name it. */
export const amdGenerics = readRows<AmdGeneric>(table.generics);

/** null for a target that is not in the table. */
export function findAmdArchitecture(name: string): AmdArchitecture | null {
  return amdArchitectures.find((row) => row.name === name) ?? null;
}

/**
 * The target that the kernel writes as a decimal number: two digits each of minor and stepping behind the major.
 *
 * @example
 * amdTarget(90010); // "gfx90a"
 */
export function amdTarget(version: number): string | null {
  const major = Math.floor(version / 10_000);
  const minor = Math.floor(version / 100) % 100;
  const stepping = version % 100;
  // Minor and stepping are one hexadecimal digit each.
  if (!Number.isSafeInteger(version) || major < 6 || major > 99 || minor > 15 || stepping > 15) return null;
  return `gfx${major}${minor.toString(16)}${stepping.toString(16)}`;
}
