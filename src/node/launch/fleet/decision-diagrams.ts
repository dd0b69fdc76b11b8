/**
 * Reduced ordered binary decision diagrams: boolean functions that are equal if their numbers are. A fleet computes "this image fits and no
 * better one does" with them, and writes the result as few alternatives.
 *
 * Sources: R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986); S. Minato, "Fast Generation of
 * Irredundant Sum-of-Products Forms from Binary Decision Diagrams" (1992); O. Coudert, J. C. Madre, "restrict" (1990).
 */

import { remember } from "../../../io/collections.ts";
import { unsupported } from "../unsupported.ts";

/** A boolean function of named variables. */
export type Node = number;
export const never: Node = 0;
export const always: Node = 1;

/** One alternative: the variables that must hold and those that must not, in order. */
export type Cube = readonly { readonly variable: string; readonly holds: boolean }[];

export interface Diagrams {
  /** The function that holds where the variable does. Diagrams test variables in the order of their names. */
  readonly variable: (name: string) => Node;
  readonly ite: (condition: Node, yes: Node, no: Node) => Node;
  readonly not: (a: Node) => Node;
  readonly and: (...nodes: readonly Node[]) => Node;
  readonly or: (...nodes: readonly Node[]) => Node;
  /** The variable that the function tests first; {@link afterAll} for {@link never} and {@link always}. */
  readonly test: (node: Node) => string;
  /** The function where the variable does not hold, and where it does. Both are the function itself unless it tests the variable first. */
  readonly split: (node: Node, variable: string) => readonly [Node, Node];
  /** `no` where the variable does not hold, `yes` where it does. Both may test only later variables. */
  readonly make: (variable: string, no: Node, yes: Node) => Node;
}

const afterAll = "\uffff";
/** A real lock takes some thousands. These numbers still fit a small machine's memory. */
const nodeLimit = 1_000_000;
const cubeLimit = 20_000;

export function createDiagrams(): Diagrams {
  // Parallel lists by node: variable, low branch, high branch.
  const tests: string[] = [afterAll, afterAll];
  const lows: Node[] = [never, always];
  const highs: Node[] = [never, always];
  const unique = new Map<string, Map<number, Node>>();
  const chosen = new Map<Node, Map<number, Node>>();

  const test = (node: Node): string => tests[node] ?? afterAll;
  const split = (node: Node, variable: string): readonly [Node, Node] =>
    test(node) === variable ? [lows[node] ?? never, highs[node] ?? never] : [node, node];

  function make(variable: string, no: Node, yes: Node): Node {
    if (no === yes) return no;
    const known = remember(unique, variable, () => new Map<number, Node>());
    return remember(known, pair(no, yes), () => {
      if (tests.length >= nodeLimit) throw tooLarge();
      tests.push(variable);
      lows.push(no);
      highs.push(yes);
      return tests.length - 1;
    });
  }

  function ite(condition: Node, yes: Node, no: Node): Node {
    if (condition === always || yes === no) return yes;
    if (condition === never) return no;
    if (yes === always && no === never) return condition;
    const known = remember(chosen, condition, () => new Map<number, Node>());
    return remember(known, pair(yes, no), () => {
      const variable = first(test(condition), first(test(yes), test(no)));
      const [condition0, condition1] = split(condition, variable);
      const [yes0, yes1] = split(yes, variable);
      const [no0, no1] = split(no, variable);
      return make(variable, ite(condition0, yes0, no0), ite(condition1, yes1, no1));
    });
  }

  // Both operations commute. A fixed order of the operands finds more results in the cache.
  const both = (a: Node, b: Node): Node => (a < b ? ite(a, b, never) : ite(b, a, never));
  const either = (a: Node, b: Node): Node => (a < b ? ite(a, always, b) : ite(b, always, a));
  return {
    variable: (name) => make(name, never, always),
    ite,
    not: (a) => ite(a, never, always),
    and: (...nodes) => nodes.reduce(both, always),
    or: (...nodes) => nodes.reduce(either, never),
    test,
    split,
    make,
  };
}

/** Alternatives, and the function where one of them holds. */
interface Cover {
  readonly cubes: readonly Cube[];
  readonly node: Node;
}

/**
 * Few alternatives that hold wherever `lower` does and nowhere that `upper` does not. They may overlap. Throws `LAUNCH_UNSUPPORTED` if there are
 * too many.
 */
export function coverNode(
  { test, split, make, not, and, or }: Diagrams,
  lower: Node,
  upper: Node,
): readonly Cube[] {
  const covers = new Map<number, Cover>();

  function coverOf(low: Node, high: Node): Cover {
    if (low === never) return { cubes: [], node: never };
    if (high === always) return { cubes: [[]], node: always };
    return remember(covers, pair(low, high), () => divided(low, high));
  }

  /** Cubes that need the first variable not to hold, cubes that need it to hold, and cubes that do not test it. */
  function divided(low: Node, high: Node): Cover {
    const variable = first(test(low), test(high));
    const [low0, low1] = split(low, variable);
    const [high0, high1] = split(high, variable);
    const no = coverOf(and(low0, not(high1)), high0);
    const yes = coverOf(and(low1, not(high0)), high1);
    const rest = or(and(low0, not(no.node)), and(low1, not(yes.node)));
    const shared = coverOf(rest, and(high0, high1));
    const cubes = [...tested(variable, no.cubes, yes.cubes), ...shared.cubes];
    if (cubes.length > cubeLimit) throw tooLarge();
    return { cubes, node: or(make(variable, no.node, yes.node), shared.node) };
  }

  return coverOf(lower, upper).cubes;
}

/**
 * Alternatives of which exactly one holds wherever `node` does: the paths through its diagram. Outside `care` the answer does not matter. null if
 * there are more than `most`.
 */
export function pathsOf(diagrams: Diagrams, node: Node, care: Node, most: number): readonly Cube[] | null {
  const { test, split } = diagrams;
  const counts = new Map<Node, number>([
    [never, 0],
    [always, 1],
  ]);
  const count = (each: Node): number =>
    remember(counts, each, () => {
      const [no, yes] = split(each, test(each));
      return count(no) + count(yes);
    });
  const paths = (each: Node): readonly Cube[] => {
    if (each === never) return [];
    if (each === always) return [[]];
    const [no, yes] = split(each, test(each));
    return tested(test(each), paths(no), paths(yes));
  };
  const simple = restrict(diagrams, node, care);
  return count(simple) > most ? null : paths(simple);
}

/** The function with values in place of variables; undefined keeps the variable. */
export function assign(
  { test, split, make }: Diagrams,
  node: Node,
  fixedValue: (variable: string) => boolean | undefined,
): Node {
  const known = new Map<Node, Node>([
    [never, never],
    [always, always],
  ]);
  const assigned = (each: Node): Node =>
    remember(known, each, () => {
      const variable = test(each);
      const [no, yes] = split(each, variable);
      const value = fixedValue(variable);
      return value === undefined ? make(variable, assigned(no), assigned(yes)) : assigned(value ? yes : no);
    });
  return assigned(node);
}

/** Splits off the tests of the first variables: each remaining function, and the function of first variables that leads to it. */
export function divide(
  { test, split, make }: Diagrams,
  node: Node,
  isFirst: (variable: string) => boolean,
): ReadonlyMap<Node, Node> {
  const known = new Map<Node, ReadonlyMap<Node, Node>>();
  const divided = (each: Node): ReadonlyMap<Node, Node> =>
    remember(known, each, () => {
      const variable = test(each);
      if (!isFirst(variable)) return new Map([[each, always]]);
      const [no, yes] = split(each, variable);
      const [without, within] = [divided(no), divided(yes)];
      return new Map(
        [...new Set([...without.keys(), ...within.keys()])].map((rest) => [
          rest,
          make(variable, without.get(rest) ?? never, within.get(rest) ?? never),
        ]),
      );
    });
  return divided(node);
}

/** Drops tests that make no difference where `care` holds. */
function restrict({ test, split, make, or }: Diagrams, node: Node, care: Node): Node {
  const restricted = new Map<number, Node>();

  function simpler(each: Node, where: Node): Node {
    if (where === never) return never;
    if (where === always || each === never || each === always) return each;
    return remember(restricted, pair(each, where), () => divided(each, where));
  }

  function divided(each: Node, where: Node): Node {
    const variable = first(test(each), test(where));
    const [where0, where1] = split(where, variable);
    if (test(each) !== variable) return simpler(each, or(where0, where1));
    const [no, yes] = split(each, variable);
    if (where0 === never) return simpler(yes, where1);
    if (where1 === never) return simpler(no, where0);
    return make(variable, simpler(no, where0), simpler(yes, where1));
  }

  return simpler(node, care);
}

/** Adds the test of the variable to the alternatives of its two branches. */
function tested(variable: string, no: readonly Cube[], yes: readonly Cube[]): readonly Cube[] {
  const withTest = (holds: boolean) => (cube: Cube) => [{ variable, holds }, ...cube];
  return [...no.map(withTest(false)), ...yes.map(withTest(true))];
}

function first(a: string, b: string): string {
  return a < b ? a : b;
}

/** Joins two nodes into one number. There are fewer than 2^26 nodes, so a double holds it exactly. */
function pair(a: Node, b: Node): number {
  return a * 2 ** 26 + b;
}

function tooLarge(): Error {
  return unsupported("a fleet", "tell so many images apart", "fix the axes that no node decides with --pin");
}
