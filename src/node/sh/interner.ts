/** Numbers equal texts once, so that the rows of a script can name a text by its number. */

export interface Interner {
  readonly numberOf: (text: string) => number;
  /** In the order of their numbers, which begin with 1. */
  readonly texts: () => readonly string[];
}

export function createInterner(): Interner {
  const numbers = new Map<string, number>();
  return {
    numberOf: (text) => {
      const known = numbers.get(text);
      if (known !== undefined) return known;
      numbers.set(text, numbers.size + 1);
      return numbers.size;
    },
    texts: () => [...numbers.keys()],
  };
}
