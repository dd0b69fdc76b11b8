/** A function as few alternatives that may overlap (S. Minato, "Fast Generation of Irredundant Sum-of-Products Forms", 1992). */

import type { Diagrams } from "./diagrams.ts";
import type { Logic } from "./logic.ts";
import { rememberPair, tooLarge } from "./memory.ts";
import { always, type Cube, type Node, never, withTest } from "./node.ts";

const cubeLimit = 20_000;

/** Alternatives, and the function that they are together. */
interface Cover {
  readonly cubes: readonly Cube[];
  readonly node: Node;
}

/** Alternatives that hold wherever `lower` does and nowhere that `upper` does not. */
export function createCover(
  { test, low, high, make }: Diagrams,
  { not, and, or }: Logic,
): (lower: Node, upper: Node) => readonly Cube[] {
  const covers = new Map<Node, Map<Node, Cover>>();

  function coverOf(lower: Node, upper: Node): Cover {
    if (lower === never) return { cubes: [], node: never };
    if (upper === always) return { cubes: [[]], node: always };
    return rememberPair(covers, lower, upper, () => divided(lower, upper));
  }

  /** What needs the variable not to hold, what needs it to hold, and the rest, which does not ask it. */
  function divided(lower: Node, upper: Node): Cover {
    const variable = Math.min(test(lower), test(upper));
    const [lower0, lower1] = [low(lower, variable), high(lower, variable)];
    const [upper0, upper1] = [low(upper, variable), high(upper, variable)];
    const no = coverOf(and(lower0, not(upper1)), upper0);
    const yes = coverOf(and(lower1, not(upper0)), upper1);
    const rest = or(and(lower0, not(no.node)), and(lower1, not(yes.node)));
    const shared = coverOf(rest, and(upper0, upper1));
    const cubes = [
      ...no.cubes.map(withTest(variable, false)),
      ...yes.cubes.map(withTest(variable, true)),
      ...shared.cubes,
    ];
    if (cubes.length > cubeLimit) throw tooLarge();
    return { cubes, node: or(make(variable, no.node, yes.node), shared.node) };
  }

  return (lower, upper) => coverOf(lower, upper).cubes;
}
