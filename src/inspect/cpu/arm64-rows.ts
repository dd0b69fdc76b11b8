/**
 * The needs of AArch64 instructions: rows of the tables beside this file. scripts/arm64-table.mjs writes them, but for that of the system's
 * registers and instructions, of which one encoding holds all (DDI 0487, C5.2, C5.3 and D24): what programs may use, by feature. Whatever is
 * not there and is of the kernel raises an exception in every program, or Linux answers for it
 * (`Documentation/arch/arm64/cpu-feature-registers.rst`): it is passed over. Another register of programs is unknown.
 */

import base from "./arm64-base.json" with { type: "json" };
import features from "./arm64-features.json" with { type: "json" };
import sve from "./arm64-sve.json" with { type: "json" };
import system from "./arm64-system.json" with { type: "json" };

/** Words that equal `value` under `mask`, and the features that they need, by Linux name with spaces between; none for Armv8.0-A. */
export type Arm64Row = readonly [mask: number, value: number, features: string, trait?: Arm64Trait];

/** `asks`: reads what the CPU has. `unproven`: stands in programs that do without the feature, which never come there without it. */
type Arm64Trait = "asks" | "unproven";

/** `["0xffffcc00", "0x4e284800", "aes", "aese aesd aesmc aesimc"]` in a file: the last are the first of its instructions. */
const readRows = ({ rows }: { readonly rows: readonly (readonly string[])[] }): readonly Arm64Row[] =>
  rows.map(([mask, value, needed = ""]) => [Number(mask), Number(value), needed]);

/** Instructions that every CPU of Armv8.0-A with floating point and Advanced SIMD executes. */
export const arm64BaseRows = readRows(base);

/** Beyond Armv8.0-A, without SVE and SME. */
export const arm64FeatureRows = readRows(features);

/** SVE and its extensions. */
export const arm64SveRows = readRows(sve);

/** To or from a general register, whichever it is: bit 21 is the direction. */
function registerRow(name: string, features: string): Arm64Row {
  const [op0 = 0, op1 = 0, n = 0, m = 0, op2 = 0] = name.split("_").map(Number);
  const value = 0xd5000000 + op0 * 2 ** 19 + op1 * 2 ** 16 + n * 2 ** 12 + m * 2 ** 8 + op2 * 2 ** 5;
  return [0xffdfffe0, value, features];
}

/** In the order of the file: of two that match the first counts. */
export const arm64SystemRows: readonly Arm64Row[] = [
  ...system.registers.map(([name = "", features = ""]) => registerRow(name, features)),
  ...system.rows.map(([mask, value, features = "", trait]): Arm64Row => {
    const row = [Number(mask), Number(value), features] as const;
    return trait ? [...row, trait as Arm64Trait] : row;
  }),
];
