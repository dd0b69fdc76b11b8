/** Claims of a page: `` `test/some.test.ts`: words of a title ``, as far as the next bracket, cell or sentence that names a test. */

export interface Claim {
  readonly file: string;
  readonly title: string;
}

export function claimsOf(text: string): readonly Claim[] {
  return [...text.matchAll(/`(test\/[\w./-]+\.test\.ts)`: ((?:(?!`test\/)(?:[^|)\n]|\n(?![|\n#-])))+)/g)].map(
    ([, file = "", title = ""]) => ({
      file,
      title: title
        .replace(/\s+/g, " ")
        .replace(/[\\;, ]+$/, "")
        .trim(),
    }),
  );
}

/** Rows of a page's tables that say what happens, without their headings. */
export function claimRows(text: string): readonly string[] {
  const lines = text.split("\n");
  return lines.filter(
    (line, index) =>
      line.startsWith("|") && !/^\|[ :|-]+$/.test(line) && !/^\|[ :|-]+$/.test(lines[index + 1] ?? ""),
  );
}
