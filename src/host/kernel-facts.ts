/** The number of a kernel, as comparisons need it. */

/** `6.8.0-45-generic` → `6.8.0`. */
export function kernelNumber(release: string): string | null {
  return /^\d+(?:\.\d+){1,2}/.exec(release.trim())?.[0] ?? null;
}
