/** Numbers equal texts once, so that the rows of a script can name a text by its number. */

import { remember } from "../../io/collections.ts";

export interface Interner {
  readonly numberOf: (text: string) => number;
  /** In the order of their numbers, which begin with 1. */
  readonly texts: () => readonly string[];
}

export function createInterner(): Interner {
  const numbers = new Map<string, number>();
  return {
    numberOf: (text) => remember(numbers, text, () => numbers.size + 1),
    texts: () => [...numbers.keys()],
  };
}
