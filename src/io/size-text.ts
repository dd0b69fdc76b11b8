/** Bytes of code in words. */

/** `812 B`, `24.4 MB`, `1.2 GB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1e5) return `${bytes} B`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
