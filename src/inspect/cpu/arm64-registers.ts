/** Knows the registers that tell a CPU's features, which the kernel reads for programs (Linux, Documentation/arch/arm64/cpu-feature-registers.rst). */

import type { Lists } from "./arm64-memory.ts";
import bits from "./asked-features.json" with { type: "json" };

/** MRS of a register whose name has op0 3, op1 0 and CRn 0. */
const mask = 0xffff_f000;
const read = 0xd538_0000;

const registers: ReadonlyMap<number, Lists> = new Map(
  Object.entries(bits.registers).map(([name, text]) => [placeOf(name), listsOf(text.split(" "))]),
);

/** The names of the bits of a register that MRS reads; null for other instructions and registers. */
export function fieldsIn(word: number): Lists | null {
  return (word & mask) >>> 0 === read ? (registers.get((word >>> 5) & 0x7f) ?? null) : null;
}

/** CRm and op2 in one number, as MRS has them. */
function placeOf(name: string): number {
  const [major, minor] = name.split(" ").map(Number);
  return (major ?? 0) * 8 + (minor ?? 0);
}

/**
 * Fields of four bits, the lowest one first. A field counts up: without the feature of the number 1 all four bits are zeros, without that of the
 * number 2 all but the lowest one, and without that of the number 3 the upper two (DDI 0487, D24.1, "Principles of the ID scheme").
 */
function listsOf(fields: readonly string[]): Lists {
  return [0, 1, 2].map((level) =>
    fields.flatMap((field) => {
      const name = field.split(",")[level] || "-";
      return [0, 1, 2, 3].map((bit) => (bit < level ? "-" : name));
    }),
  );
}
