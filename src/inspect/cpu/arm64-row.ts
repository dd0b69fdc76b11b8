/** One row of what AArch64 instructions need. */

/** Words that equal `value` under `mask`, and the features that they need, by Linux name with spaces between; none for Armv8.0-A. */
export type Arm64Row = readonly [mask: number, value: number, features: string, trait?: Arm64Trait];

/** `asks`: reads what the CPU has. `unproven`: stands in programs that do without the feature, which never come there without it. */
export type Arm64Trait = "asks" | "unproven";
