/** The platforms of all marches, without the table of marches. */

import type { marchPlatform } from "./cpu-marches.ts";

export const marchPlatforms: readonly string[] = [
  "linux/amd64",
  "linux/arm64",
  "linux/ppc64le",
  "linux/riscv64",
] satisfies ReturnType<typeof marchPlatform>[];

/** Spellings of `uname -m`, of Debian and of OCI. */
const platformOf: Readonly<Record<string, string>> = {
  x86_64: "linux/amd64",
  amd64: "linux/amd64",
  aarch64: "linux/arm64",
  arm64: "linux/arm64",
  ppc64le: "linux/ppc64le",
  riscv64: "linux/riscv64",
};

/** `amd64`, `x86_64` or `linux/amd64` → `linux/amd64`; null for another platform. */
export function readPlatform(text: string): string | null {
  const name = text.replace(/^linux\//, "");
  return Object.hasOwn(platformOf, name) ? (platformOf[name] ?? null) : null;
}
