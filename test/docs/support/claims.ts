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

/** Rows of the tables whose last column is `test`, without their headings. */
export function claimRows(text: string): readonly string[] {
  const tables = text.match(/^\|.*\| test +\|\n\|[ :|-]+\|\n(?:\|.*\|\n?)+/gm) ?? [];
  return tables.flatMap((table) => table.trimEnd().split("\n").slice(2));
}
