/**
 * Reduced ordered binary decision diagrams: exact boolean functions, equal when their numbers are. With them "this image
 * fits and no better one does" is computed, and written out again as few alternatives.
 *
 * Sources: R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986); S. Minato, "Fast Generation of
 * Irredundant Sum-of-Products Forms from Binary Decision Diagrams" (1992).
 */

import { unsupported } from "../unsupported.ts";

/** A function: 0 is never, 1 is always. */
export type Node = number;

/** One alternative: variables that must hold and variables that must not. */
export type Cube = readonly { readonly variable: number; readonly holds: boolean }[];

export interface Bdd {
  /** The variable itself; they are tested in the order of their numbers. */
  readonly variable: (index: number) => Node;
  readonly not: (a: Node) => Node;
  readonly and: (...nodes: readonly Node[]) => Node;
  readonly or: (...nodes: readonly Node[]) => Node;
  readonly ite: (condition: Node, yes: Node, no: Node) => Node;
  /**
   * Few alternatives whose union holds wherever `lower` does and nowhere that `upper` does not: what lies between them
   * does not matter. They may overlap. Throws `LAUNCH_UNSUPPORTED` when they are too many to be of use.
   */
  readonly cover: (lower: Node, upper: Node) => readonly Cube[];
  /**
   * Alternatives of which exactly one holds wherever `node` does; `care` says where it matters. They may be very many: null
   * when there are more than `most`.
   */
  readonly disjoint: (node: Node, care: Node, most: number) => readonly Cube[] | null;
}

export const never: Node = 0;
export const always: Node = 1;
const terminal = Number.MAX_SAFE_INTEGER;

export function createBdd(): Bdd {
  // Parallel lists: variable, low branch, high branch.
  const tests: number[] = [terminal, terminal];
  const lows: Node[] = [0, 1];
  const highs: Node[] = [0, 1];
  const unique = new Map<number, Map<number, Node>>();
  const chosen = new Map<Node, Map<number, Node>>();
  const restricted = new Map<Node, Map<Node, Node>>();
  const covers = new Map<Node, Map<Node, Cover>>();

  const test = (node: Node): number => tests[node] ?? terminal;
  const low = (node: Node, variable: number): Node => (test(node) === variable ? (lows[node] ?? 0) : node);
  const high = (node: Node, variable: number): Node => (test(node) === variable ? (highs[node] ?? 0) : node);

  function make(variable: number, no: Node, yes: Node): Node {
    if (no === yes) return no;
    const branches = within(unique, variable);
    const known = branches.get(pair(no, yes));
    if (known !== undefined) return known;
    if (tests.length >= nodeLimit) throw tooLarge();
    tests.push(variable);
    lows.push(no);
    highs.push(yes);
    branches.set(pair(no, yes), tests.length - 1);
    return tests.length - 1;
  }

  function ite(condition: Node, yes: Node, no: Node): Node {
    if (condition === always || yes === no) return yes;
    if (condition === never) return no;
    if (yes === always && no === never) return condition;
    const results = within(chosen, condition);
    const known = results.get(pair(yes, no));
    if (known !== undefined) return known;
    const variable = Math.min(test(condition), test(yes), test(no));
    const result = make(
      variable,
      ite(low(condition, variable), low(yes, variable), low(no, variable)),
      ite(high(condition, variable), high(yes, variable), high(no, variable)),
    );
    results.set(pair(yes, no), result);
    return result;
  }

  const not = (a: Node): Node => ite(a, never, always);
  // The order of two operands means nothing: the same one first finds more of what is known.
  const both = (a: Node, b: Node): Node => (a < b ? ite(a, b, never) : ite(b, a, never));
  const either = (a: Node, b: Node): Node => (a < b ? ite(a, always, b) : ite(b, always, a));
  const and = (...nodes: readonly Node[]): Node => nodes.reduce(both, always);
  const or = (...nodes: readonly Node[]): Node => nodes.reduce(either, never);

  function irredundant(lower: Node, upper: Node): Cover {
    if (lower === never) return { cubes: [], node: never };
    if (upper === always) return { cubes: [[]], node: always };
    const results = within(covers, lower);
    const known = results.get(upper);
    if (known !== undefined) return known;
    const variable = Math.min(test(lower), test(upper));
    const [lower0, lower1] = [low(lower, variable), high(lower, variable)];
    const [upper0, upper1] = [low(upper, variable), high(upper, variable)];
    const no = irredundant(and(lower0, not(upper1)), upper0);
    const yes = irredundant(and(lower1, not(upper0)), upper1);
    const rest = or(and(lower0, not(no.node)), and(lower1, not(yes.node)));
    const shared = irredundant(rest, and(upper0, upper1));
    const result = {
      cubes: [
        ...no.cubes.map((cube): Cube => [{ variable, holds: false }, ...cube]),
        ...yes.cubes.map((cube): Cube => [{ variable, holds: true }, ...cube]),
        ...shared.cubes,
      ],
      node: or(make(variable, no.node, yes.node), shared.node),
    };
    if (result.cubes.length > cubeLimit) throw tooLarge();
    results.set(upper, result);
    return result;
  }

  /** Drops tests that tell nothing where `care` holds (O. Coudert, J. C. Madre, "restrict", 1990). */
  function restrict(node: Node, care: Node): Node {
    if (care === never) return never;
    if (care === always || node === never || node === always) return node;
    const results = within(restricted, node);
    const known = results.get(care);
    if (known !== undefined) return known;
    const variable = Math.min(test(node), test(care));
    const [care0, care1] = [low(care, variable), high(care, variable)];
    let result: Node;
    if (test(node) !== variable) result = restrict(node, or(care0, care1));
    else if (care0 === never) result = restrict(high(node, variable), care1);
    else if (care1 === never) result = restrict(low(node, variable), care0);
    else result = make(variable, restrict(low(node, variable), care0), restrict(high(node, variable), care1));
    results.set(care, result);
    return result;
  }

  function countPaths(node: Node, counts: Map<Node, number>): number {
    if (node === never || node === always) return node;
    const known = counts.get(node);
    if (known !== undefined) return known;
    const count = countPaths(lows[node] ?? 0, counts) + countPaths(highs[node] ?? 0, counts);
    counts.set(node, count);
    return count;
  }

  function paths(node: Node): readonly Cube[] {
    if (node === never) return [];
    if (node === always) return [[]];
    const variable = test(node);
    return [
      ...paths(lows[node] ?? 0).map((cube): Cube => [{ variable, holds: false }, ...cube]),
      ...paths(highs[node] ?? 0).map((cube): Cube => [{ variable, holds: true }, ...cube]),
    ];
  }

  return {
    variable: (index) => make(index, never, always),
    not,
    and,
    or,
    ite,
    cover: (lower, upper) => irredundant(lower, upper).cubes,
    disjoint: (node, care, most) => {
      const simple = restrict(node, care);
      return countPaths(simple, new Map()) > most ? null : paths(simple);
    },
  };
}

/** Alternatives, and the function that they are together. */
interface Cover {
  readonly cubes: readonly Cube[];
  readonly node: Node;
}

/** A lock of a person's making takes some thousands. Beyond these the memory of a small machine ends first. */
const nodeLimit = 1_000_000;
const cubeLimit = 20_000;

/** So that two numbers of nodes fit into one that a double holds exactly. */
const mostNodes = 2 ** 26;

function pair(a: Node, b: Node): number {
  return a * mostNodes + b;
}

function tooLarge(): Error {
  return unsupported("a fleet", "tell so many images apart", "fix the axes that no node decides with --pin");
}

function within<K, L, V>(map: Map<K, Map<L, V>>, key: K): Map<L, V> {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = new Map<L, V>();
  map.set(key, made);
  return made;
}
