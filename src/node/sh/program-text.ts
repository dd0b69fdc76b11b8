/** Text of sh and awk as it stands in a script: without the comments and the indentation that are for its authors. */

/** Lines that begin with `#` go, and so do blanks around a line. */
export function compact(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .join("\n");
}
