/** Takes the parts of sh and awk that a fleet needs, and shortens them: comments, blanks and long names are for the authors. */

import { InternalError } from "../../errors.ts";

/**
 * Leaves out the lines between `#if NAME` and `#end` whose need the fleet does not have, takes those behind `#else` in their place, and puts
 * values in place of `@NAME@`.
 *
 * @example
 * partsFor("#if arm\n@a@\n#else\nb\n#end", { arm: true }, { a: "A" }); // "A"
 */
export function partsFor(
  text: string,
  needs: Readonly<Record<string, boolean>>,
  values: Readonly<Record<string, string>>,
): string {
  const known = <Value>(of: Readonly<Record<string, Value>>, name: string): Value => {
    const value = of[name];
    if (value === undefined) throw new InternalError(`the program names ${name}, which nobody knows`);
    return value;
  };
  const kept: boolean[] = [];
  const lines = text.split("\n").filter((line) => {
    const [, word, name = ""] = /^\s*#(if|else|end)\b ?(\w*)/.exec(line) ?? [];
    if (word === undefined) return kept.every(Boolean);
    const last = word === "if" ? known(needs, name) : kept.pop();
    if (word === "else") kept.push(!last);
    else if (word === "if") kept.push(last === true);
    return false;
  });
  return lines.join("\n").replace(/@(\w+)@/g, (_, name: string) => known(values, name));
}

/** Drops comment lines, empty lines and the blanks around a line. */
export function compact(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .join("\n");
}

/** Words that awk reserves: POSIX's and those of some awks. */
const awkWords = new Set(
  (
    "BEGIN END function func if else while for do break continue next nextfile exit return delete in getline print printf " +
    "ENVIRON FILENAME FNR FS NF NR OFMT OFS ORS RLENGTH RS RSTART SUBSEP " +
    "atan2 close cos exp fflush gsub index int length log match rand sin split sprintf sqrt srand sub substr system tolower toupper " +
    "or and xor compl lshift rshift asort asorti gensub patsplit strtonum typeof isarray mktime strftime systime"
  ).split(" "),
);

/** After these words `/` begins a regular expression. After any other word, a number, `)` or `]` it divides. */
const beforeRegex = new Set(["return", "in", "print", "case", "else", "do"]);

const token =
  /(?<blank>(?:[ \t]|\\\n)+)|(?<line>\n)|(?<comment>#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?)|(?<sign>&&|\|\||[-+*%^=!<>/]=|\+\+|--|[^\w\s"])/y;
const regex = /\/(?:\[\^?\]?[^\]\n]*\]|\\.|[^/\\[\n])+\//y;

/**
 * Halves the bytes of an awk program: drops comments and needless blanks, and shortens its names to a letter or two. A name gets the same
 * short name everywhere, so locals and globals stay apart. Throws `InternalError` for text that is not awk.
 *
 * @example
 * shrinkAwk("function add(list, i) { total += list / 2 }"); // "function b(a,c){d+=a/2}"
 */
export function shrinkAwk(text: string): string {
  const tokens = tokensOf(text);
  const names = shortNames(tokens);
  let out = "";
  let depth = 0;
  for (const [index, { text: word, blank }] of tokens.entries()) {
    const before = tokens[index - 1]?.text ?? "{";
    if (word === "{") depth++;
    if (word === "}") depth--;
    if (isNeedlessEnd(word, before, tokens[index + 1]?.text, depth)) continue;
    out += (blank && needsBlank(before, word) ? " " : "") + (names.get(word) ?? word);
  }
  return out;
}

interface Token {
  readonly text: string;
  /** A blank or a comment stood before it. */
  readonly blank: boolean;
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let blank = false;
  for (let at = 0; at < text.length; ) {
    const found =
      matchAt(startsRegex(tokens.at(-1)?.text) ? regex : token, text, at) ?? matchAt(token, text, at);
    if (found === null)
      throw new InternalError(`awk has no word that begins ${JSON.stringify(text.slice(at, at + 20))}`);
    at += found[0].length;
    const skipped = found.groups?.blank !== undefined || found.groups?.comment !== undefined;
    const isRepeated = found[0] === "\n" && tokens.at(-1)?.text === "\n";
    if (!skipped && !isRepeated) tokens.push({ text: found[0], blank });
    blank = skipped;
  }
  return tokens;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function startsRegex(before: string | undefined): boolean {
  return before === undefined || beforeRegex.has(before) || !/[\w)\]"]$/.test(before);
}

/** Tells whether a `;` or a line's end ends no statement, or a statement that a brace ends too. */
function isNeedlessEnd(word: string, before: string, after: string | undefined, depth: number): boolean {
  if (word === ";") return after === "}" && before !== ")";
  if (word !== "\n") return false;
  return /^(\{|;|,|&&|\|\||else|do)$/.test(before) || after === "}" || (before === "}" && depth > 0);
}

function needsBlank(before: string, word: string): boolean {
  // Without a blank, a variable before a parenthesis is a function call.
  if (/\w$/.test(before))
    return /^\w/.test(word) || (word === "(" && !/^(if|while|for|return|in)$/.test(before));
  return /[-+]$/.test(before) && /^[-+]/.test(word);
}

/** Short names for the program's names. The most frequent get one letter. */
function shortNames(tokens: readonly Token[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { text } of tokens)
    if (/^[A-Za-z_]/.test(text) && !awkWords.has(text)) counts.set(text, (counts.get(text) ?? 0) + 1);
  const byUse = [...counts].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const short = generateNames();
  return new Map(byUse.map((name) => [name, short.next().value]));
}

function* generateNames(): Generator<string, never> {
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  yield* letters;
  for (const first of letters) {
    for (const second of `${letters}0123456789`) if (!awkWords.has(first + second)) yield first + second;
  }
  throw new InternalError("the program has more names than there are short ones");
}
