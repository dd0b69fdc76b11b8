/** The words of decision diagrams. */

/** A function: 0 is never, 1 is always. */
export type Node = number;

export const never: Node = 0;
export const always: Node = 1;

/** One alternative: variables that must hold and variables that must not. */
export type Cube = readonly { readonly variable: number; readonly holds: boolean }[];

/** `cube` where the variable holds, or does not. */
export function withTest(variable: number, holds: boolean): (cube: Cube) => Cube {
  return (cube) => [{ variable, holds }, ...cube];
}
