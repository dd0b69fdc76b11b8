/** Bytes of code in words. */

/** Between the targets of code that is compressed as one: nothing tells the bytes of each. */
export const packedWith = ",";

/** `gfx908 … gfx1201, 24 compressed as one`. */
export function codeText(name: string): string {
  const targets = name.split(packedWith);
  return targets.length === 1
    ? name
    : `${targets[0]} … ${targets.at(-1)}, ${targets.length} compressed as one`;
}

/** `812 B`, `24.4 MB`, `1.2 GB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1e5) return `${bytes} B`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
