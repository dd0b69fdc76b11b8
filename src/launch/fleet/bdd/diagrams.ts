/** The diagrams themselves: every function has one number, so that equal functions are found to be equal. */

import { rememberPair, tooLarge } from "./memory.ts";
import { always, type Node, never } from "./node.ts";

export interface Diagrams {
  /** The variable that is tested first; beyond all variables for {@link never} and {@link always}. */
  readonly test: (node: Node) => number;
  /** What is left where the variable does not hold; the function itself where it does not test the variable first. */
  readonly low: (node: Node, variable: number) => Node;
  /** The same where it holds. */
  readonly high: (node: Node, variable: number) => Node;
  /** `no` where the variable does not hold, `yes` where it does; both test later variables only. */
  readonly make: (variable: number, no: Node, yes: Node) => Node;
}

const terminal = Number.MAX_SAFE_INTEGER;
/** A lock of a person's making takes some thousands. Beyond these the memory of a small machine ends first. */
const nodeLimit = 1_000_000;
/** So that two numbers of nodes fit into one that a double holds exactly. */
const mostNodes = 2 ** 26;

export function pair(a: Node, b: Node): number {
  return a * mostNodes + b;
}

export function createDiagrams(): Diagrams {
  // Parallel lists: variable, low branch, high branch.
  const tests: number[] = [terminal, terminal];
  const lows: Node[] = [never, always];
  const highs: Node[] = [never, always];
  const unique = new Map<number, Map<number, Node>>();
  const test = (node: Node): number => tests[node] ?? terminal;
  const add = (variable: number, no: Node, yes: Node): Node => {
    if (tests.length >= nodeLimit) throw tooLarge();
    tests.push(variable);
    lows.push(no);
    highs.push(yes);
    return tests.length - 1;
  };
  return {
    test,
    low: (node, variable) => (test(node) === variable ? (lows[node] ?? never) : node),
    high: (node, variable) => (test(node) === variable ? (highs[node] ?? never) : node),
    make: (variable, no, yes) =>
      no === yes ? no : rememberPair(unique, variable, pair(no, yes), () => add(variable, no, yes)),
  };
}
