/** Evaluates `${{ … }}` of GitHub workflows with the values of `matrix` and `env`. */

/** undefined for a value that is unknown before the workflow runs. */
type Known = string | number | boolean | null | object | undefined;

export interface Contexts {
  readonly matrix: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, unknown>>;
}

/** Evaluates the expressions of a text; undefined if one is unknown. */
export function textWith(text: string, contexts: Contexts): string | undefined {
  let isKnown = true;
  const made = text.replace(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => {
    const value = evaluateExpression(expression, contexts);
    if (value === undefined) isKnown = false;
    return value === null || value === undefined
      ? ""
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  });
  return isKnown ? made : undefined;
}

/** True if a condition certainly fails. An unreadable one is unknown. */
export function isRuledOut(condition: unknown, contexts: Contexts): boolean {
  if (condition === undefined) return false;
  const text = String(condition)
    .trim()
    .replace(/^\$\{\{(.*)\}\}$/s, "$1");
  const value = evaluateExpression(text, contexts);
  return value !== undefined && !isTrue(value);
}

const token =
  /\s*(?:('(?:[^']|'')*')|(-?\d+(?:\.\d+)?)(?![\w.])|([A-Za-z_][\w-]*)|(==|!=|<=|>=|&&|\|\||[!<>()[\],.*]))/y;

type Token = { readonly kind: "text" | "number" | "name" | "mark"; readonly text: string };

function evaluateExpression(text: string, contexts: Contexts): Known {
  const tokens: Token[] = [];
  token.lastIndex = 0;
  const whole = text.trim();
  while (token.lastIndex < whole.length) {
    const found = token.exec(whole);
    if (found === null) return undefined;
    const [, quoted, number, name, mark] = found;
    if (quoted !== undefined) tokens.push({ kind: "text", text: quoted.slice(1, -1).replaceAll("''", "'") });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else tokens.push({ kind: "mark", text: mark ?? "" });
  }
  const reader: Reader = { tokens, at: 0, contexts };
  const value = either(reader);
  return reader.at === tokens.length ? value : undefined;
}

interface Reader {
  readonly tokens: readonly Token[];
  at: number;
  readonly contexts: Contexts;
}

function takes(reader: Reader, mark: string): boolean {
  const next = reader.tokens[reader.at];
  if (next?.kind !== "mark" || next.text !== mark) return false;
  reader.at++;
  return true;
}

function either(reader: Reader): Known {
  return chained(reader, "||", (next) => chained(next, "&&", comparison));
}

/** A known side can decide although the other is unknown: in `||` one that holds, in `&&` one that does not. */
function chained(reader: Reader, mark: "||" | "&&", read: (reader: Reader) => Known): Known {
  const decides = (value: Known) => value !== undefined && isTrue(value) === (mark === "||");
  let value = read(reader);
  while (takes(reader, mark)) {
    const other = read(reader);
    if (value === undefined) value = decides(other) ? other : undefined;
    else if (!decides(value)) value = other;
  }
  return value;
}

function comparison(reader: Reader): Known {
  const left = single(reader);
  for (const [mark, compare] of comparisons) {
    if (!takes(reader, mark)) continue;
    const right = single(reader);
    return left === undefined || right === undefined ? undefined : compare(left, right);
  }
  return left;
}

const comparisons: readonly (readonly [string, (left: Known, right: Known) => boolean])[] = [
  ["==", isSame],
  ["!=", (left, right) => !isSame(left, right)],
  [">=", (left, right) => Number(left) >= Number(right)],
  ["<=", (left, right) => Number(left) <= Number(right)],
  [">", (left, right) => Number(left) > Number(right)],
  ["<", (left, right) => Number(left) < Number(right)],
];

/** Compares texts without regard to case, and values of different kinds as numbers (docs.github.com, "Evaluate expressions"). */
function isSame(left: Known, right: Known): boolean {
  if (typeof left === "string" && typeof right === "string")
    return left.toLowerCase() === right.toLowerCase();
  return typeof left === typeof right ? left === right : Number(left) === Number(right);
}

function isTrue(value: Known): boolean {
  return value !== false && value !== 0 && value !== "" && value !== null;
}

function single(reader: Reader): Known {
  if (takes(reader, "!")) {
    const value = single(reader);
    return value === undefined ? undefined : !isTrue(value);
  }
  if (takes(reader, "(")) {
    const value = either(reader);
    return takes(reader, ")") ? value : undefined;
  }
  const next = reader.tokens[reader.at++];
  if (next?.kind === "text") return next.text;
  if (next?.kind === "number") return Number(next.text);
  if (next?.kind !== "name") return undefined;
  const constants: Readonly<Record<string, Known>> = { true: true, false: false, null: null };
  if (Object.hasOwn(constants, next.text)) return constants[next.text];
  if (takes(reader, "(")) return call(next.text, reader);
  return path(next.text, reader);
}

/** `matrix.config.tag`; a missing key is null, as on GitHub. */
function path(root: string, reader: Reader): Known {
  const { matrix, env } = reader.contexts;
  let value: unknown = root === "matrix" ? matrix : root === "env" ? env : undefined;
  for (;;) {
    if (takes(reader, ".")) {
      const key = reader.tokens[reader.at++]?.text ?? "";
      value = step(value, key, root);
    } else if (takes(reader, "[")) {
      const key = either(reader);
      if (!takes(reader, "]")) return undefined;
      value = step(value, String(key), root);
    } else return value as Known;
  }
}

function step(value: unknown, key: string, root: string): unknown {
  if (value === undefined || value === null) return value;
  const found =
    typeof value === "object" && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : null;
  // A step may write it into the environment at run time.
  return found === null && root === "env" ? undefined : found;
}

function call(name: string, reader: Reader): Known {
  const given: Known[] = [];
  while (!takes(reader, ")")) {
    given.push(either(reader));
    if (!takes(reader, ",") && reader.tokens[reader.at]?.text !== ")") return undefined;
  }
  if (given.includes(undefined)) return undefined;
  const [first, ...rest] = given;
  switch (name) {
    case "format":
      return String(first).replace(/\{(\d+)\}/g, (_, index: string) => String(rest[Number(index)] ?? ""));
    case "contains":
      return Array.isArray(first)
        ? first.some((each: Known) => isSame(each, rest[0]))
        : String(first).toLowerCase().includes(String(rest[0]).toLowerCase());
    case "startsWith":
      return String(first).toLowerCase().startsWith(String(rest[0]).toLowerCase());
    case "endsWith":
      return String(first).toLowerCase().endsWith(String(rest[0]).toLowerCase());
    case "join":
      return Array.isArray(first) ? first.map(String).join(String(rest[0] ?? ",")) : String(first);
    case "toJSON":
      return JSON.stringify(first);
  }
  return undefined;
}
