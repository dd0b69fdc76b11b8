/** Resolves quotes and variables of a word as BuildKit does (moby/buildkit, frontend/dockerfile/shell/lex.go). */

/** A value, or the reason why there is none. */
export type ShellWord =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly reason: string };

class WordProblem extends Error {}

/** Reads `$NAME`, `${NAME}` and `${NAME:-word}`, `:+`, `-`, `+`, `:?`, `?`. A name without value and default is a problem. */
export function expandWord(word: string, variables: ReadonlyMap<string, string>, escapeBy = "\\"): ShellWord {
  if (!/["'$\\`]/.test(word)) return { ok: true, value: word };
  try {
    return { ok: true, value: readWord({ text: word, escapeBy, at: 0, depth: 0 }, variables, null) };
  } catch (error) {
    if (error instanceof WordProblem) return { ok: false, reason: error.message };
    throw error;
  }
}

interface Cursor {
  readonly text: string;
  readonly escapeBy: string;
  at: number;
  /** How many `${a:-…}` are open. */
  depth: number;
}

/** Each level is a recursive call. Nobody writes ten. */
const deepestDefault = 100;

function readWord(cursor: Cursor, variables: ReadonlyMap<string, string>, stop: string | null): string {
  const { escapeBy } = cursor;
  let value = "";
  let quoted = false;
  while (cursor.at < cursor.text.length) {
    const character = cursor.text[cursor.at] as string;
    if (!quoted && character === stop) return value;
    cursor.at++;
    if (character === "$") value += readVariable(cursor, variables);
    else if (character === '"') quoted = !quoted;
    else if (character === "'" && !quoted) {
      const end = cursor.text.indexOf("'", cursor.at);
      if (end < 0) throw new WordProblem("a quote is not closed");
      value += cursor.text.slice(cursor.at, end);
      cursor.at = end + 1;
    } else if (character === escapeBy && cursor.at < cursor.text.length) {
      const next = cursor.text[cursor.at++] as string;
      // Between double quotes, only these characters can be escaped.
      value += quoted && !`"$${escapeBy}`.includes(next) ? escapeBy + next : next;
    } else value += character;
  }
  if (quoted) throw new WordProblem("a quote is not closed");
  if (stop !== null) throw new WordProblem(`"\${" has no "}"`);
  return value;
}

function readVariable(cursor: Cursor, variables: ReadonlyMap<string, string>): string {
  const bareName = matchAt(/[A-Za-z_]\w*/y, cursor)?.[0];
  if (bareName !== undefined) {
    cursor.at += bareName.length;
    return known(bareName, variables.get(bareName));
  }
  const [braced, name = "", operator = ""] = matchAt(/\{([A-Za-z_]\w*)(\}|:?[-+?])/y, cursor) ?? [];
  if (braced === undefined) {
    if (cursor.text[cursor.at] === "{")
      throw new WordProblem(`imgmatch cannot evaluate "$${cursor.text.slice(cursor.at)}"`);
    return "$";
  }
  cursor.at += braced.length;
  const value = variables.get(name);
  if (operator === "}") return known(name, value);
  // The word is read even if it is not used. Then its unknown names do not count.
  const start = cursor.at;
  const isSet = value !== undefined && (value !== "" || !operator.startsWith(":"));
  const used = operator.endsWith("+") ? isSet : !isSet;
  if (++cursor.depth > deepestDefault)
    throw new WordProblem(`"\${…}" is nested deeper than ${deepestDefault}`);
  const word = readWord(cursor, used ? variables : anyName, "}");
  cursor.depth--;
  cursor.at++;
  if (operator.endsWith("+")) return isSet ? word : "";
  if (isSet) return value;
  if (operator.endsWith("-")) return word;
  throw new WordProblem(`${name} is not set: ${cursor.text.slice(start, cursor.at - 1)}`);
}

/** A sticky match: slicing the rest of the text for each variable would take the square of its length. */
function matchAt(expression: RegExp, { text, at }: Cursor): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

const anyName: ReadonlyMap<string, string> = Object.assign(new Map<string, string>(), { get: () => "" });

function known(name: string, value: string | undefined): string {
  if (value === undefined) throw new WordProblem(`no ARG before the first FROM gives ${name} a value`);
  return value;
}

/** Writes a text as a double-quoted word, with quotes, backslashes and `$` escaped. */
export function quote(text: string): string {
  return `"${text.replace(/["\\$]/g, "\\$&")}"`;
}
