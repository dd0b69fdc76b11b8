/** The part of any text that tags and file names may have. */

/** `9.0+ptx` → `9.0-ptx`. */
export function slug(label: string): string {
  return label.replace(/[^A-Za-z0-9._-]+/g, "-");
}
