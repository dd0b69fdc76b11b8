/** Evaluates a bake file: answers its targets in the form of `docker buildx bake --print`. */

import { attempt } from "../../io/attempt.ts";
import {
  evaluate,
  type HclObject,
  type HclParser,
  type HclScope,
  type HclValue,
  textOf,
  Unevaluated,
  within,
} from "./hcl.ts";
import type { Environment } from "../../io/world.ts";

export interface BakeTarget {
  readonly context?: string;
  readonly dockerfile?: string;
  readonly "dockerfile-inline"?: string;
  readonly target?: string;
  readonly platforms?: readonly string[];
  readonly args?: Readonly<Record<string, string | null>>;
  readonly contexts?: Readonly<Record<string, string>>;
  /** Expressions that could not be evaluated. */
  readonly left?: readonly string[];
}

interface Evaluation {
  readonly parser: HclParser;
  readonly env: Environment;
}

type Block = Readonly<Record<string, unknown>>;
type Blocks = Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;

/** Leaves out targets that others only inherit: an image's target is in a group, or nothing inherits it. */
export async function evaluateBake(
  text: string,
  { parser, env }: Evaluation,
): Promise<readonly (readonly [string, BakeTarget])[]> {
  const {
    variable = {},
    function: own = {},
    target = {},
    group = {},
    ...globals
  } = await blocksOf(text, parser);
  const scope = scopeOf(parser, variable, own, globals, env);
  const blocks = new Map(
    Object.entries(target).map(([name, parts]): [string, Block] => [name, Object.assign({}, ...parts)]),
  );
  const inherited = new Set<string>();
  const grouped = new Set(
    Object.values(group).flatMap((parts) =>
      parts.flatMap(({ targets }) => (Array.isArray(targets) ? targets : [])),
    ),
  );
  const all: [string, string, BakeTarget][] = [];
  for (const [name, block] of blocks) {
    for (const row of await rowsOf(block, scope)) {
      const inner = within(scope, row);
      const called = block.name === undefined ? name : textOf(await evaluate(block.name, inner));
      for (const parent of parentsOf(block)) inherited.add(parent);
      all.push([name, called, await targetOf(name, blocks, inner)]);
    }
  }
  return all
    .filter(([name, called]) => grouped.has(name) || grouped.has(called) || !inherited.has(name))
    .map(([, called, each]) => [called, each] as const);
}

/** The blocks of a file in HCL or JSON. */
async function blocksOf(text: string, parser: HclParser): Promise<Blocks> {
  const json = attempt(() => JSON.parse(text) as Readonly<Record<string, Block>>, null);
  if (json === null) return (await parser.parse("docker-bake.hcl", text)) as Blocks;
  const listed = Object.entries(json).map(([kind, blocks]) => [
    kind,
    Object.fromEntries(Object.entries(blocks).map(([name, block]) => [name, [block]])),
  ]);
  return Object.fromEntries(listed) as Blocks;
}

/** The environment overrides a variable's default, as in bake. */
function scopeOf(
  parser: HclParser,
  variables: Blocks[string],
  own: Blocks[string],
  globals: Readonly<Record<string, unknown>>,
  env: Evaluation["env"],
): HclScope {
  const found = new Map<string, HclValue>();
  const functions = new Map(
    Object.entries(own).flatMap(([name, [first]]) => {
      const params = Array.isArray(first?.params)
        ? first.params.map((each) => String(each).replace(/^\$\{(.*)\}$/, "$1"))
        : [];
      return first === undefined ? [] : [[name, { params, result: first.result }] as const];
    }),
  );
  const scope: HclScope = {
    parser,
    functions,
    find: async (name) => {
      const known = found.get(name);
      if (known !== undefined) return known;
      const block = Object.hasOwn(variables, name) ? variables[name]?.[0] : undefined;
      const global = Object.hasOwn(globals, name) ? globals[name] : undefined;
      if (block === undefined && global === undefined) return undefined;
      const standard = await evaluate(block === undefined ? global : (block.default ?? null), scope);
      const given = block === undefined ? undefined : env[name];
      const value = given === undefined ? standard : typed(given, standard);
      found.set(name, value);
      return value;
    },
  };
  return scope;
}

/** Converts a text of the environment to the default's type. */
function typed(text: string, like: HclValue): HclValue {
  if (typeof like === "number") return Number(text);
  return typeof like === "boolean" ? text === "true" || text === "1" : text;
}

/** The product of a target's matrix; one empty row without a matrix. */
async function rowsOf({ matrix }: Block, scope: HclScope): Promise<readonly HclObject[]> {
  if (matrix === undefined) return [{}];
  const axes = Object.entries((await evaluate(matrix, scope)) as HclObject);
  return axes.reduce<readonly HclObject[]>(
    (rows, [axis, values]) =>
      rows.flatMap((row) => (values as readonly HclValue[]).map((value) => ({ ...row, [axis]: value }))),
    [{}],
  );
}

function parentsOf({ inherits }: Block): readonly string[] {
  return Array.isArray(inherits) ? inherits.map(String) : [];
}

const maps = ["args", "contexts"] as const;
const keys = ["context", "dockerfile", "dockerfile-inline", "target", "platforms", ...maps] as const;

/** Merges the parents in their order, then the target itself. Mappings merge key by key. */
async function targetOf(
  name: string,
  blocks: ReadonlyMap<string, Block>,
  scope: HclScope,
): Promise<BakeTarget> {
  const block = blocks.get(name);
  if (block === undefined) return { left: [`inherits ${name}: no such target`] };
  let inherited: BakeTarget = {};
  for (const parent of parentsOf(block)) {
    const parentName = textOf(await evaluate(parent, scope));
    inherited = merged(inherited, await targetOf(parentName, blocks, scope));
  }
  const own: Record<string, unknown> = {};
  const left: string[] = [];
  const read = async (key: string, json: unknown) => {
    try {
      return await evaluate(json, scope);
    } catch (error) {
      if (!(error instanceof Unevaluated)) throw error;
      left.push(`${key}: ${String(json)} is not evaluated (${error.message})`);
      return undefined;
    }
  };
  for (const key of keys) {
    const json = block[key] ?? null;
    if (json === null) continue;
    if (!(maps as readonly string[]).includes(key)) {
      const found = await read(key, json);
      if (found !== undefined && found !== null) own[key] = found;
    } else {
      const texts: Record<string, string | null> = {};
      for (const [entry, value] of Object.entries(json as Block)) {
        const found = await read(`${key}.${entry}`, value);
        if (found !== undefined) texts[entry] = found === null ? null : textOf(found);
      }
      own[key] = texts;
    }
  }
  return merged(inherited, { ...own, ...(left.length > 0 && { left }) });
}

function merged(below: BakeTarget, above: BakeTarget): BakeTarget {
  const { args, contexts, left } = { ...below, ...above };
  return {
    ...below,
    ...above,
    ...(args && { args: { ...below.args, ...above.args } }),
    ...(contexts && { contexts: { ...below.contexts, ...above.contexts } }),
    ...(left && { left: [...(below.left ?? []), ...(above.left ?? [])] }),
  };
}
