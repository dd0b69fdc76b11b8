/** Evaluates `${{ … }}` of GitHub workflows with the values of `matrix` and `env`. */

type Value = string | number | boolean | null | object | symbol;

/** Stand for values that are unknown before the workflow runs. Of the last two it is known whether they hold. */
const unknown = Symbol("unknown");
const unknownTrue = Symbol("unknown, and holds");
const unknownFalse = Symbol("unknown, and fails");

export interface Contexts {
  readonly matrix: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, unknown>>;
}

/** Evaluates the expressions of a text; undefined if one is unknown. */
export function textWith(text: string, contexts: Contexts): string | undefined {
  let isKnown = true;
  const made = text.replace(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => {
    const value = evaluateExpression(expression, contexts);
    if (isUnknown(value)) isKnown = false;
    return value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  });
  return isKnown ? made : undefined;
}

/** True if a condition certainly fails. An unreadable one is unknown. */
export function isRuledOut(condition: unknown, contexts: Contexts): boolean {
  if (condition === undefined) return false;
  const text = String(condition)
    .trim()
    .replace(/^\$\{\{(.*)\}\}$/s, "$1");
  return holds(evaluateExpression(text, contexts)) === false;
}

const token =
  /\s*(?:('(?:[^']|'')*')|(-?\d+(?:\.\d+)?)(?![\w.])|([A-Za-z_][\w-]*)|(==|!=|<=|>=|&&|\|\||[!<>()[\],.*]))/y;

type Token = { readonly kind: "text" | "number" | "name" | "mark"; readonly text: string };

function evaluateExpression(text: string, contexts: Contexts): Value {
  const tokens: Token[] = [];
  token.lastIndex = 0;
  const whole = text.trim();
  while (token.lastIndex < whole.length) {
    const found = token.exec(whole);
    if (found === null) return unknown;
    const [, quoted, number, name, mark] = found;
    if (quoted !== undefined) tokens.push({ kind: "text", text: quoted.slice(1, -1).replaceAll("''", "'") });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else tokens.push({ kind: "mark", text: mark ?? "" });
  }
  const reader: Reader = { tokens, at: 0, contexts };
  const value = either(reader);
  return reader.at === tokens.length ? value : unknown;
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

function either(reader: Reader): Value {
  return chained(reader, "||", (next) => chained(next, "&&", comparison));
}

/** The value is that of the side that decides. If the first side is unknown, the second tells at most whether the whole holds. */
function chained(reader: Reader, mark: "||" | "&&", read: (reader: Reader) => Value): Value {
  const deciding = mark === "||";
  let value = read(reader);
  while (takes(reader, mark)) {
    const other = read(reader);
    const first = holds(value);
    if (first === !deciding) value = other;
    else if (first === null)
      value = holds(other) !== deciding ? unknown : deciding ? unknownTrue : unknownFalse;
  }
  return value;
}

function comparison(reader: Reader): Value {
  const left = single(reader);
  for (const [mark, compare] of comparisons) {
    if (!takes(reader, mark)) continue;
    const right = single(reader);
    return isUnknown(left) || isUnknown(right) ? unknown : compare(left, right);
  }
  return left;
}

const comparisons: readonly (readonly [string, (left: Value, right: Value) => boolean])[] = [
  ["==", isSame],
  ["!=", (left, right) => !isSame(left, right)],
  [">=", (left, right) => Number(left) >= Number(right)],
  ["<=", (left, right) => Number(left) <= Number(right)],
  [">", (left, right) => Number(left) > Number(right)],
  ["<", (left, right) => Number(left) < Number(right)],
];

/** Compares texts without regard to case, and values of different kinds as numbers (docs.github.com, "Evaluate expressions"). */
function isSame(left: Value, right: Value): boolean {
  if (typeof left === "string" && typeof right === "string")
    return left.toLowerCase() === right.toLowerCase();
  return typeof left === typeof right ? left === right : Number(left) === Number(right);
}

function isUnknown(value: Value): value is symbol {
  return typeof value === "symbol";
}

/** null if that is unknown too. */
function holds(value: Value): boolean | null {
  if (value === unknown) return null;
  return value !== unknownFalse && value !== false && value !== 0 && value !== "" && value !== null;
}

function single(reader: Reader): Value {
  if (takes(reader, "!")) {
    const isTrue = holds(single(reader));
    return isTrue === null ? unknown : !isTrue;
  }
  if (takes(reader, "(")) {
    const value = either(reader);
    return takes(reader, ")") ? value : unknown;
  }
  const next = reader.tokens[reader.at++];
  if (next?.kind === "text") return next.text;
  if (next?.kind === "number") return Number(next.text);
  if (next?.kind !== "name") return unknown;
  const constants: Readonly<Record<string, Value>> = { true: true, false: false, null: null };
  if (Object.hasOwn(constants, next.text)) return constants[next.text] ?? null;
  if (takes(reader, "(")) return call(next.text, reader);
  return path(next.text, reader);
}

/** `matrix.config.tag`; a missing key is null, as on GitHub. */
function path(root: string, reader: Reader): Value {
  const { matrix, env } = reader.contexts;
  let value: unknown = root === "matrix" ? matrix : root === "env" ? env : unknown;
  for (;;) {
    if (takes(reader, ".")) {
      const key = reader.tokens[reader.at++]?.text ?? "";
      value = step(value, key, root);
    } else if (takes(reader, "[")) {
      const key = either(reader);
      if (!takes(reader, "]")) return unknown;
      value = isUnknown(key) ? unknown : step(value, String(key), root);
    } else return value as Value;
  }
}

function step(value: unknown, key: string, root: string): unknown {
  if (typeof value === "symbol" || value === null) return value;
  const found =
    typeof value === "object" && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : null;
  // A step may write it into the environment at run time.
  return found === null && root === "env" ? unknown : found;
}

function call(name: string, reader: Reader): Value {
  const given: Value[] = [];
  while (!takes(reader, ")")) {
    given.push(either(reader));
    if (!takes(reader, ",") && reader.tokens[reader.at]?.text !== ")") return unknown;
  }
  if (given.some(isUnknown)) return unknown;
  const [first = null, ...rest] = given;
  switch (name) {
    case "format":
      return String(first).replace(/\{(\d+)\}/g, (_, index: string) => String(rest[Number(index)] ?? ""));
    case "contains":
      return Array.isArray(first)
        ? first.some((each: Value) => isSame(each, rest[0] ?? null))
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
  return unknown;
}
