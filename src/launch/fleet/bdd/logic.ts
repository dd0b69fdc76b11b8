/** And, or, not: all are one question with two answers. */

import { type Diagrams, pair } from "./diagrams.ts";
import { rememberPair } from "./memory.ts";
import { always, type Node, never } from "./node.ts";

export interface Logic {
  readonly ite: (condition: Node, yes: Node, no: Node) => Node;
  readonly not: (a: Node) => Node;
  readonly and: (...nodes: readonly Node[]) => Node;
  readonly or: (...nodes: readonly Node[]) => Node;
}

export function createLogic({ test, low, high, make }: Diagrams): Logic {
  const chosen = new Map<Node, Map<number, Node>>();

  function ite(condition: Node, yes: Node, no: Node): Node {
    if (condition === always || yes === no) return yes;
    if (condition === never) return no;
    if (yes === always && no === never) return condition;
    return rememberPair(chosen, condition, pair(yes, no), () => {
      const variable = Math.min(test(condition), test(yes), test(no));
      return make(
        variable,
        ite(low(condition, variable), low(yes, variable), low(no, variable)),
        ite(high(condition, variable), high(yes, variable), high(no, variable)),
      );
    });
  }

  // The order of two operands means nothing: the same one first finds more of what is known.
  const both = (a: Node, b: Node): Node => (a < b ? ite(a, b, never) : ite(b, a, never));
  const either = (a: Node, b: Node): Node => (a < b ? ite(a, always, b) : ite(b, always, a));
  return {
    ite,
    not: (a) => ite(a, never, always),
    and: (...nodes) => nodes.reduce(both, always),
    or: (...nodes) => nodes.reduce(either, never),
  };
}
