/**
 * Evaluates `${{ … }}` of GitHub workflows, in GitHub's own evaluator, with the values that are known before a run. A value that only a run
 * knows is unknown. Whatever needs an unknown value is unknown too.
 */

import { data, Evaluator, type Expr, Lexer, Parser } from "@actions/expressions";
import type { Logical, Unary } from "@actions/expressions/ast";
import { format } from "@actions/expressions/funcs/format";
import { join } from "@actions/expressions/funcs/join";
import { ErrorType } from "@actions/expressions/errors";
import { TokenType } from "@actions/expressions/lexer";
import { truthy } from "@actions/expressions/result";
import { faultOf } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";

export interface Contexts {
  readonly matrix: Readonly<Record<string, unknown>>;
  /** The names that are known: a step may write others when it runs. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Of a called workflow or action; null if the caller is unknown. */
  readonly inputs: Readonly<Record<string, unknown>> | null;
}

/** Stands for an unknown value; its description is the text as it is written. */
export function unknownValue(written: string): symbol {
  return Symbol(written);
}

/** A part of a text: as it stands, or an expression without its brackets; null for one that nothing closes, with the rest of the text. */
export interface TextPart {
  readonly written: string;
  readonly inner?: string | null;
}

/** As GitHub finds expressions: up to `}}` outside quotes. An open one is the last part: what follows is no other's text. */
export function partsOf(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf("${{", from);
    if (start !== from && from < text.length)
      parts.push({ written: text.slice(from, start < 0 ? undefined : start) });
    if (start < 0) return parts;
    const end = endOfExpression(text, start + 3);
    const written = text.slice(start, end < 0 ? undefined : end);
    parts.push({ written, inner: end < 0 ? null : written.slice(3, -2) });
    if (end < 0) return parts;
    from = end;
  }
}

/** -1 if nothing closes it. */
function endOfExpression(text: string, from: number): number {
  let isQuoted = false;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "'") isQuoted = !isQuoted;
    else if (!isQuoted && text.startsWith("}}", at)) return at + 2;
  }
  return -1;
}

/** Evaluates the expressions of a text; undefined if one is unknown. */
export function textWith(text: string, contexts: Contexts): string | undefined {
  const { value } = evaluated(() =>
    partsOf(text)
      .map(({ written, inner }) =>
        inner === undefined ? written : inner === null ? unknown() : evaluate(inner, contexts).coerceString(),
      )
      .join(""),
  );
  return value;
}

/** Evaluates all texts of some data. Where the whole text is one expression, the answer is the expression's value, of any kind, or an unknown value. */
export function settled(value: unknown, contexts: Contexts): unknown {
  if (Array.isArray(value)) return value.map((each) => settled(each, contexts));
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, settled(each, contexts)]));
  if (typeof value !== "string") return value;
  const [{ inner: whole } = {}, ...others] = partsOf(value.trim());
  if (typeof whole !== "string" || others.length > 0) return textWith(value, contexts) ?? unknownValue(value);
  const found = evaluated((): unknown =>
    JSON.parse(JSON.stringify(evaluate(whole, contexts), data.replacer)),
  );
  return found.value === undefined ? unknownValue(value) : found.value;
}

/** True if a condition certainly fails. */
export function isRuledOut(condition: unknown, contexts: Contexts): boolean {
  if (condition === undefined || condition === null) return false;
  const text = String(condition)
    .trim()
    .replace(/^\$\{\{(.*)\}\}$/s, "$1");
  return (
    evaluated(
      () => truthy(evaluate(text, contexts)),
      (isTrue) => isTrue,
    ).holds === false
  );
}

/** What is known of an unknown value: whether it holds. */
class Unknown extends Error {
  constructor(readonly holds: boolean | null) {
    super("unknown");
  }
}

interface Evaluated<Value> {
  /** undefined for an unknown value. */
  readonly value?: Value;
  readonly holds: boolean | null;
}

/** A text that GitHub refuses is unknown. */
function evaluated<Value>(
  read: () => Value,
  holdsOf: (value: Value) => boolean | null = () => null,
): Evaluated<Value> {
  try {
    const value = read();
    return { value, holds: holdsOf(value) };
  } catch (error) {
    return { holds: error instanceof Unknown ? error.holds : null };
  }
}

const contextNames = "github env vars job jobs steps runner secrets strategy matrix needs inputs".split(" ");

/** Functions beside GitHub's well-known ones. Each needs the run, or its files. */
const ofRun = ["always", "success", "failure", "cancelled", "hashFiles"].map((name) => ({
  name,
  minArgs: 0,
  maxArgs: 255,
  call: unknown,
}));

/** GitHub's variables hold 48 KB. Calls in calls would double a text until no memory is left. */
const longestText = 2 ** 20;
const bounded = [format, join].map((known) => ({
  ...known,
  call: (...args: data.ExpressionData[]) => {
    const [first, ...others] = args;
    const pieces =
      first instanceof data.Array ? first.values().length : (first?.coerceString() ?? "").split("{").length;
    const longest = Math.max(0, ...others.map((each) => each.coerceString().length));
    return pieces * longest > longestText ? unknown() : known.call(...args);
  },
}));
const functions = new Map([...ofRun, ...bounded].map((each) => [each.name.toLowerCase(), each]));

function unknown(): never {
  throw new Unknown(null);
}

function parsed(text: string): Expr {
  return new Parser(new Lexer(text).lex().tokens, contextNames, ofRun).parse();
}

function evaluate(text: string, { matrix, env, inputs }: Contexts): data.ExpressionData {
  const known = { matrix: dataOf(matrix), env: dictionary(env), ...(inputs && { inputs: dataOf(inputs) }) };
  const evaluator: Evaluator = Object.assign(new Evaluator(parsed(text), dictionary(known), functions), {
    visitLogical: (logical: Logical) => chained(logical, (each) => each.accept(evaluator)),
    visitUnary: ({ expr }: Unary) => {
      const { holds } = evaluated(() => expr.accept(evaluator), truthy);
      return holds === null ? unknown() : new data.BooleanData(!holds);
    },
  });
  return evaluator.evaluate();
}

/** The value is that of the side that decides. If an unknown side may decide, at most it is known whether the whole holds. */
function chained(
  { operator, args }: Logical,
  read: (side: Expr) => data.ExpressionData,
): data.ExpressionData {
  const deciding = operator.type === TokenType.OR;
  let mayBeDecided = false;
  let last: Evaluated<data.ExpressionData> = { holds: null };
  for (const side of args) {
    last = evaluated(() => read(side), truthy);
    if (last.holds === deciding) {
      if (mayBeDecided || last.value === undefined) throw new Unknown(deciding);
      return last.value;
    }
    if (last.holds === null) mayBeDecided = true;
  }
  if (mayBeDecided) throw new Unknown(null);
  if (last.value === undefined) throw new Unknown(last.holds);
  return last.value;
}

/** A dictionary in which a missing name is unknown, and not null. */
function dictionary(known: Readonly<Record<string, unknown>>): data.Dictionary {
  const found = dictionaryOf(known);
  const get = found.get.bind(found);
  return Object.assign(found, {
    get: (name: string) => get(name) ?? unknown(),
    pairs: unknown,
    values: unknown,
  });
}

function dictionaryOf(fields: Readonly<Record<string, unknown>>): data.Dictionary {
  return new data.Dictionary(
    ...Object.entries(fields).map(([key, value]) => ({ key, value: dataOf(value) })),
  );
}

function dataOf(value: unknown): data.ExpressionData {
  if (typeof value === "symbol") return unknownData;
  if (value instanceof data.Dictionary) return value;
  if (Array.isArray(value)) return new data.Array(...value.map(dataOf));
  return isRecord(value) ? dictionaryOf(value) : (data.reviver("", value ?? null) as data.ExpressionData);
}

/** Whatever reads it ends in an unknown value. */
const unknownData = {
  get kind() {
    return unknown();
  },
  get primitive() {
    return unknown();
  },
  coerceString: unknown,
  number: unknown,
} as unknown as data.ExpressionData;

/** Of an open expression, which goes to the end of its text. */
const longestShown = 60;

const ofSyntax = [ErrorType.ErrorUnexpectedSymbol, ErrorType.ErrorUnexpectedEndOfExpression];

/** Expressions in a text that are no expressions by their syntax, for GitHub too, each with the reason. */
export function brokenExpressions(
  text: string,
): readonly { readonly written: string; readonly why: string }[] {
  return partsOf(text).flatMap(({ written, inner }) => {
    if (inner === undefined) return [];
    if (inner === null) return [{ written: written.slice(0, longestShown), why: "nothing closes it" }];
    try {
      parsed(inner);
      return [];
    } catch (error) {
      // The lexer's errors have no type. An unknown name or function may be one of a later GitHub.
      const type = "typ" in Object(error) ? (error as { readonly typ: ErrorType }).typ : null;
      return type === null || ofSyntax.includes(type) ? [{ written, why: faultOf(error) }] : [];
    }
  });
}
