/** The needs of AArch64 instructions: rows of the tables beside this file, which scripts/arm64-table.mjs writes. */

import base from "./arm64-base.json" with { type: "json" };
import features from "./arm64-features.json" with { type: "json" };
import sve from "./arm64-sve.json" with { type: "json" };

/** Words that equal `value` under `mask`, and the features that they need, by Linux name with spaces between; none for Armv8.0-A. */
export type Arm64Row = readonly [mask: number, value: number, features: string, trait?: Arm64Trait];

/** `asks`: reads what the CPU has. `unproven`: stands in programs that do without the feature, which never come there without it. */
export type Arm64Trait = "asks" | "unproven";

/** `["0xffffcc00", "0x4e284800", "aes", "aese aesd aesmc aesimc"]` in a file: the last are the first of its instructions. */
const readRows = ({ rows }: { readonly rows: readonly (readonly string[])[] }): readonly Arm64Row[] =>
  rows.map(([mask, value, needed = ""]) => [Number(mask), Number(value), needed]);

/** Instructions that every CPU of Armv8.0-A with floating point and Advanced SIMD executes. */
export const arm64BaseRows = readRows(base);

/** Beyond Armv8.0-A, without SVE and SME. */
export const arm64FeatureRows = readRows(features);

/** SVE and its extensions. */
export const arm64SveRows = readRows(sve);
