/**
 * Reduced ordered binary decision diagrams: exact boolean functions, equal when their numbers are. With them "this image
 * fits and no better one does" is computed, and written out again as few alternatives.
 *
 * Sources: R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986); S. Minato, "Fast Generation of
 * Irredundant Sum-of-Products Forms from Binary Decision Diagrams" (1992); O. Coudert, J. C. Madre, "restrict" (1990).
 */

import { remember } from "../../../io/collections.ts";
import { unsupported } from "../unsupported.ts";

/** A function of variables. */
export type Node = number;
export const never: Node = 0;
export const always: Node = 1;

/** One alternative: variables that must hold and variables that must not, in their order. */
export type Cube = readonly { readonly variable: string; readonly holds: boolean }[];

export interface Diagrams {
  /** The variable itself. Variables are tested in the order of their names. */
  readonly variable: (name: string) => Node;
  readonly ite: (condition: Node, yes: Node, no: Node) => Node;
  readonly not: (a: Node) => Node;
  readonly and: (...nodes: readonly Node[]) => Node;
  readonly or: (...nodes: readonly Node[]) => Node;
  /** The variable that is tested first; {@link afterAll} for {@link never} and {@link always}. */
  readonly test: (node: Node) => string;
  /** The function without the variable, first if it does not hold, then if it does; the function itself if it does not test it first. */
  readonly split: (node: Node, variable: string) => readonly [Node, Node];
  /** `no` where the variable does not hold, `yes` where it does; both test later variables only. */
  readonly make: (variable: string, no: Node, yes: Node) => Node;
}

const afterAll = "\uffff";
/** A lock of a person's making takes some thousands. Beyond these the memory of a small machine ends first. */
const nodeLimit = 1_000_000;
const cubeLimit = 20_000;

export function createDiagrams(): Diagrams {
  // Parallel lists: variable, low branch, high branch.
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

  // The order of two operands means nothing: the same one first finds more of what is known.
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

/**
 * Few alternatives whose union holds wherever `lower` does and nowhere that `upper` does not: what lies between them
 * does not matter. They may overlap. Throws `LAUNCH_UNSUPPORTED` when they are too many to be of use.
 */
export function coverNode(
  { test, split, make, not, and, or }: Diagrams,
  lower: Node,
  upper: Node,
): readonly Cube[] {
  const covers = new Map<number, { readonly cubes: readonly Cube[]; readonly node: Node }>();

  function coverOf(low: Node, high: Node): { readonly cubes: readonly Cube[]; readonly node: Node } {
    if (low === never) return { cubes: [], node: never };
    if (high === always) return { cubes: [[]], node: always };
    return remember(covers, pair(low, high), () => divided(low, high));
  }

  /** Cubes that need the variable not to hold, cubes that need it to hold, and the rest, which do not test it. */
  function divided(low: Node, high: Node) {
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
 * Alternatives of which exactly one holds wherever `node` does: the ways through its diagram. `care` says where it matters.
 * They may be very many: null when there are more than `most`.
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

/** The function where these variables have these values; undefined leaves one open. */
export function assign(
  { test, split, make }: Diagrams,
  node: Node,
  given: (variable: string) => boolean | undefined,
): Node {
  const known = new Map<Node, Node>([
    [never, never],
    [always, always],
  ]);
  const assigned = (each: Node): Node =>
    remember(known, each, () => {
      const variable = test(each);
      const [no, yes] = split(each, variable);
      const value = given(variable);
      return value === undefined ? make(variable, assigned(no), assigned(yes)) : assigned(value ? yes : no);
    });
  return assigned(node);
}

/** The functions that are left behind all tests of `isFirst` variables, each with where it is. Those variables come before all others. */
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

/** Drops tests that tell nothing where `care` holds. */
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

/** The alternatives of both branches of a variable. */
function tested(variable: string, no: readonly Cube[], yes: readonly Cube[]): readonly Cube[] {
  const withTest = (holds: boolean) => (cube: Cube) => [{ variable, holds }, ...cube];
  return [...no.map(withTest(false)), ...yes.map(withTest(true))];
}

function first(a: string, b: string): string {
  return a < b ? a : b;
}

/** Two numbers of nodes in one that a double holds exactly: there are fewer than 2^26. */
function pair(a: Node, b: Node): number {
  return a * 2 ** 26 + b;
}

function tooLarge(): Error {
  return unsupported("a fleet", "tell so many images apart", "fix the axes that no node decides with --pin");
}
