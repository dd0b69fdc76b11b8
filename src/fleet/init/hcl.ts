/** Evaluates HCL expressions of bake files over a parser's syntax tree. */

/** The used part of the package `@cdktn/hcl2json`, HashiCorp's parser as WebAssembly. */
export interface HclParser {
  parse(file: string, text: string): Promise<unknown>;
  getExpressionAst(file: string, expression: string): Promise<unknown>;
}

export type HclValue = string | number | boolean | null | readonly HclValue[] | HclObject;
export interface HclObject {
  readonly [key: string]: HclValue;
}

/** A function of the file. */
interface HclFunction {
  readonly params: readonly string[];
  readonly result: unknown;
}

export interface HclScope {
  readonly parser: HclParser;
  /** Evaluates a variable at its first use; undefined for an unknown name. */
  find(name: string): Promise<HclValue | undefined>;
  readonly functions: ReadonlyMap<string, HclFunction>;
}

/** An expression that cannot be evaluated here. */
export class Unevaluated extends Error {}

interface Node {
  readonly type: string;
  readonly children?: readonly Node[] | null;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Evaluates the parser's JSON, in which every text may be a template. */
export async function evaluate(json: unknown, scope: HclScope): Promise<HclValue> {
  if (typeof json === "string") {
    if (!/[$%]\{/.test(json)) return json;
    const tree = await scope.parser.getExpressionAst("docker-bake.hcl", quoted(json));
    return evaluateNode(tree as Node, scope);
  }
  if (Array.isArray(json)) return all(json, (each) => evaluate(each, scope));
  if (typeof json === "object" && json !== null) {
    const entries = Object.entries(json).map(
      async ([key, value]) => [key, await evaluate(value, scope)] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
  if (typeof json === "number" || typeof json === "boolean" || json === null) return json;
  throw new Unevaluated(String(json));
}

/** Writes a text as an HCL literal: escapes quotes and line ends outside its expressions. */
function quoted(text: string): string {
  const parts = text.split(/([$%]\{(?:[^{}"]|"(?:[^"\\]|\\.)*"|\{[^{}]*\})*\})/);
  return `"${parts.map((part, index) => (index % 2 === 1 ? part : part.replace(/["\\]/g, "\\$&").replaceAll("\n", "\\n"))).join("")}"`;
}

async function all<From, To>(items: readonly From[], make: (item: From) => Promise<To>): Promise<To[]> {
  const made: To[] = [];
  for (const item of items) made.push(await make(item));
  return made;
}

async function evaluateNode(node: Node, scope: HclScope): Promise<HclValue> {
  const children = node.children ?? [];
  const meta = node.meta ?? {};
  const own = () => all(children, (child) => evaluateNode(child, scope));
  switch (node.type) {
    case "literalValue":
      return literalOf(meta);
    case "template": {
      const parts = await own();
      const [only] = parts;
      if (parts.length === 1 && only !== undefined && children[0]?.type !== "literalValue") return only;
      return parts.map(textOf).join("");
    }
    case "tuple":
      return own();
    case "scopeTraversal":
      return traverse(meta, scope);
    case "function":
      return call(String(meta.name), await own(), scope);
    case "conditional": {
      const [condition, yes, no] = children;
      if (condition === undefined || yes === undefined || no === undefined) break;
      return evaluateNode(isTrue(await evaluateNode(condition, scope)) ? yes : no, scope);
    }
    case "binaryOp": {
      const [left, right] = await own();
      const operator = operators[String(meta.operator)];
      if (operator === undefined) throw new Unevaluated(String(meta.operator));
      return operator(left ?? null, right ?? null);
    }
    case "unaryOp": {
      const [value = null] = await own();
      return meta.operator === "logicalNot" ? !isTrue(value) : -Number(value);
    }
    case "index": {
      const [collection = null, key = null] = await own();
      return member(collection, textOf(key));
    }
    case "relativeTraversal": {
      const [value = null] = await own();
      return segments(meta).reduce<HclValue>(member, value);
    }
    case "for":
      return loop(meta, scope);
    case "templateWrap":
    case "parentheses":
    case "":
      if (children[0] !== undefined && children.length === 1) return evaluateNode(children[0], scope);
      break;
    case "object":
      return object(meta, scope);
  }
  throw new Unevaluated(typeof meta.value === "string" ? meta.value : node.type);
}

function literalOf({ type, value }: Readonly<Record<string, unknown>>): HclValue {
  if (type === "number") return Number(value);
  if (type === "bool") return value === "true" || value === true;
  return type === "string" ? String(value) : null;
}

async function traverse(meta: Readonly<Record<string, unknown>>, scope: HclScope): Promise<HclValue> {
  const [root, ...rest] = segments(meta);
  const value = root === undefined ? undefined : await scope.find(root);
  if (value === undefined) throw new Unevaluated(`${String(meta.value)}: no such variable`);
  return rest.reduce(member, value);
}

function segments({ traversal }: Readonly<Record<string, unknown>>): readonly string[] {
  return ((traversal ?? []) as readonly { readonly segment: string }[]).map(({ segment }) => segment);
}

function member(value: HclValue, key: string): HclValue {
  const found =
    Array.isArray(value) || (typeof value === "object" && value !== null) ? valueAt(value, key) : undefined;
  if (found === undefined) throw new Unevaluated(`[${key}]: not there`);
  return found;
}

function valueAt(value: object, key: string): HclValue | undefined {
  return Object.hasOwn(value, key)
    ? ((value as Readonly<Record<string, HclValue>>)[key] as HclValue)
    : undefined;
}

async function loop(meta: Readonly<Record<string, unknown>>, scope: HclScope): Promise<HclValue> {
  const { keyVar, valVar, collectionExpression, conditionalExpression, keyExpression, valueExpression } =
    meta as Readonly<Record<string, string>>;
  const collection = await expression(collectionExpression, scope);
  if (typeof collection !== "object" || collection === null) throw new Unevaluated(String(meta.value));
  const made: [string, HclValue][] = [];
  for (const [key, value] of Object.entries(collection)) {
    const inner = within(scope, {
      ...(keyVar ? { [keyVar]: Array.isArray(collection) ? Number(key) : key } : {}),
      [valVar ?? ""]: value as HclValue,
    });
    if (conditionalExpression && !isTrue(await expression(conditionalExpression, inner))) continue;
    const name = keyExpression ? textOf(await expression(keyExpression, inner)) : key;
    made.push([name, await expression(valueExpression, inner)]);
  }
  return keyExpression ? Object.fromEntries(made) : made.map(([, value]) => value);
}

async function object(meta: Readonly<Record<string, unknown>>, scope: HclScope): Promise<HclValue> {
  const items = Object.entries((meta.items ?? {}) as Readonly<Record<string, string>>);
  return Object.fromEntries(await all(items, async ([key, text]) => [key, await expression(text, scope)]));
}

function expression(text: string | undefined, scope: HclScope): Promise<HclValue> {
  return evaluate(`\${${text ?? ""}}`, scope);
}

/** A scope whose own names hide those around it. */
export function within(scope: HclScope, own: Readonly<Record<string, HclValue>>): HclScope {
  return { ...scope, find: async (name) => (Object.hasOwn(own, name) ? own[name] : scope.find(name)) };
}

const operators: Readonly<Record<string, (left: HclValue, right: HclValue) => HclValue>> = {
  equal: isSame,
  notEqual: (left, right) => !isSame(left, right),
  logicalAnd: (left, right) => isTrue(left) && isTrue(right),
  logicalOr: (left, right) => isTrue(left) || isTrue(right),
  add: (left, right) => Number(left) + Number(right),
  subtract: (left, right) => Number(left) - Number(right),
  multiply: (left, right) => Number(left) * Number(right),
  greaterThan: (left, right) => Number(left) > Number(right),
  greaterThanOrEqual: (left, right) => Number(left) >= Number(right),
  lessThan: (left, right) => Number(left) < Number(right),
  lessThanOrEqual: (left, right) => Number(left) <= Number(right),
};

function isSame(left: HclValue, right: HclValue): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function isTrue(value: HclValue): boolean {
  return value === true || value === "true";
}

export function textOf(value: HclValue): string {
  if (typeof value === "object" && value !== null) throw new Unevaluated("a list where a text belongs");
  return String(value ?? "");
}

/** The functions of bake (docker/buildx, bake/hclparser/stdlib.go) that definitions of images use. */
const functions: Readonly<Record<string, (...values: readonly HclValue[]) => HclValue>> = {
  upper: (text = "") => textOf(text).toUpperCase(),
  lower: (text = "") => textOf(text).toLowerCase(),
  replace: (text = "", old = "", by = "") => textOf(text).replaceAll(textOf(old), textOf(by)),
  trimprefix: (text = "", prefix = "") => textOf(text).replace(new RegExp(`^${escaped(textOf(prefix))}`), ""),
  trimsuffix: (text = "", suffix = "") => textOf(text).replace(new RegExp(`${escaped(textOf(suffix))}$`), ""),
  trimspace: (text = "") => textOf(text).trim(),
  sanitize: (text = "") => textOf(text).replace(/[^\w-]/g, "_"),
  split: (between = "", text = "") => textOf(text).split(textOf(between)),
  join: (between = "", items = []) => listOf(items).map(textOf).join(textOf(between)),
  concat: (...lists) => lists.flatMap((list) => [...listOf(list)]),
  compact: (items = []) => listOf(items).filter((item) => item !== "" && item !== null),
  distinct: (items = []) => [...new Set(listOf(items))],
  contains: (items = [], item = null) => listOf(items).includes(item),
  length: (items = []) => (typeof items === "string" ? items.length : Object.keys(items ?? {}).length),
  element: (items = [], index = 0) => member(items, textOf(index)),
  lookup: (from = {}, key = "", otherwise = null) =>
    typeof from === "object" && from !== null ? (valueAt(from, textOf(key)) ?? otherwise) : otherwise,
  keys: (from = {}) => Object.keys(from ?? {}).sort(),
  coalesce: (...values) => values.find((value) => value !== null && value !== "") ?? null,
  equal: (left = null, right = null) => isSame(left, right),
  notequal: (left = null, right = null) => !isSame(left, right),
  not: (value = null) => !isTrue(value),
  and: (...values) => values.every(isTrue),
  or: (...values) => values.some(isTrue),
  tostring: (value = null) => textOf(value),
};

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function listOf(value: HclValue): readonly HclValue[] {
  if (Array.isArray(value)) return value as readonly HclValue[];
  throw new Unevaluated("a text where a list belongs");
}

async function call(name: string, values: readonly HclValue[], scope: HclScope): Promise<HclValue> {
  const own = scope.functions.get(name);
  if (own !== undefined) {
    const given = Object.fromEntries(own.params.map((param, index) => [param, values[index] ?? null]));
    return evaluate(own.result, within(scope, given));
  }
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined) throw new Unevaluated(`${name}(): no such function here`);
  return known(...values);
}
