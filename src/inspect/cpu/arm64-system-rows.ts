/**
 * AArch64's system registers and system instructions, of which one encoding holds all (DDI 0487, C5.2, C5.3 and D24): what programs
 * may use, by feature. Whatever is not here and is of the kernel raises an exception in every program, or Linux answers for it
 * (`Documentation/arch/arm64/cpu-feature-registers.rst`): it is passed over. Another register of programs is unknown.
 */

import type { Arm64Row, Arm64Trait } from "./arm64-rows.ts";
import table from "./arm64-system.json" with { type: "json" };

/** To or from a general register, whichever it is: bit 21 is the direction. */
function registerRow(name: string, features: string): Arm64Row {
  const [op0 = 0, op1 = 0, n = 0, m = 0, op2 = 0] = name.split("_").map(Number);
  const value = 0xd5000000 + op0 * 2 ** 19 + op1 * 2 ** 16 + n * 2 ** 12 + m * 2 ** 8 + op2 * 2 ** 5;
  return [0xffdfffe0, value, features];
}

/** In the order of the file: of two that match the first counts. */
export const arm64SystemRows: readonly Arm64Row[] = [
  ...table.registers.map(([name = "", features = ""]) => registerRow(name, features)),
  ...table.rows.map(([mask, value, features = "", trait]): Arm64Row => {
    const row = [Number(mask), Number(value), features] as const;
    return trait ? [...row, trait as Arm64Trait] : row;
  }),
];
