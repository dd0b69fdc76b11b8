/** The platforms of the marches that the tables know, for what does not need the tables themselves. */

import type { marchPlatform } from "./cpu-marches.ts";

export const marchPlatforms: readonly string[] = [
  "linux/amd64",
  "linux/arm64",
  "linux/ppc64le",
  "linux/riscv64",
] satisfies ReturnType<typeof marchPlatform>[];
