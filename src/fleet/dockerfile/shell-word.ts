/** One word of a Dockerfile with its quotes and variables resolved, as BuildKit does (moby/buildkit, frontend/dockerfile/shell/lex.go). */

/** A value, or why there is none. */
export type ShellWord =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly reason: string };

class WordProblem extends Error {}

/** `$NAME`, `${NAME}` and `${NAME:-word}`, `:+`, `-`, `+`, `:?`, `?`. A name that `variables` lacks, without default, is a problem. */
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

/** Each level is a call; nobody writes ten. */
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
      // Between double quotes only these lose their escape.
      value += quoted && !`"$${escapeBy}`.includes(next) ? escapeBy + next : next;
    } else value += character;
  }
  if (quoted) throw new WordProblem("a quote is not closed");
  if (stop !== null) throw new WordProblem(`"\${" has no "}"`);
  return value;
}

function readVariable(cursor: Cursor, variables: ReadonlyMap<string, string>): string {
  const plain = matchAt(/[A-Za-z_]\w*/y, cursor)?.[0];
  if (plain !== undefined) {
    cursor.at += plain.length;
    return known(plain, variables.get(plain));
  }
  const [braced, name = "", operator = ""] = matchAt(/\{([A-Za-z_]\w*)(\}|:?[-+?])/y, cursor) ?? [];
  if (braced === undefined) {
    if (cursor.text[cursor.at] === "{")
      throw new WordProblem(`imgmatch cannot evaluate "$${cursor.text.slice(cursor.at)}"`);
    return "$";
  }
  cursor.at += braced.length;
  const held = variables.get(name);
  if (operator === "}") return known(name, held);
  // The word is read even when it is not used; its own unknown names count only when it is.
  const start = cursor.at;
  const isSet = held !== undefined && (held !== "" || !operator.startsWith(":"));
  const used = operator.endsWith("+") ? isSet : !isSet;
  if (++cursor.depth > deepestDefault)
    throw new WordProblem(`"\${…}" is nested deeper than ${deepestDefault}`);
  const word = readWord(cursor, used ? variables : anyName, "}");
  cursor.depth--;
  cursor.at++;
  if (operator.endsWith("-")) return isSet ? (held as string) : word;
  if (operator.endsWith("+")) return isSet ? word : "";
  if (isSet) return held as string;
  throw new WordProblem(`${name} is not set: ${cursor.text.slice(start, cursor.at - 1)}`);
}

/** Without a copy of what follows, which a word of many variables would make for each. */
function matchAt(expression: RegExp, { text, at }: Cursor): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

const anyName: ReadonlyMap<string, string> = Object.assign(new Map<string, string>(), { get: () => "" });

function known(name: string, value: string | undefined): string {
  if (value === undefined) throw new WordProblem(`no ARG before the first FROM gives ${name} a value`);
  return value;
}

/** A text as a double-quoted word: the quote, the backslash and `$` lose their meaning. */
export function quote(text: string): string {
  return `"${text.replace(/["\\$]/g, "\\$&")}"`;
}
