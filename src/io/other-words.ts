/** Knows the options of other programs by their meaning. */

import words from "./other-words.json" with { type: "json" };

const meanings: Readonly<Record<string, string>> = words;

/**
 * Finds the known option with the meaning that `word` has for other programs; null without one. All names are in camel case.
 *
 * @example
 * optionMeant("port", ["listen", "pin"]); // "listen"
 */
export function optionMeant(word: string, known: readonly string[]): string | null {
  const meant = Object.hasOwn(meanings, word) ? (meanings[word] ?? "").split(" ") : [];
  return meant.find((option) => known.includes(option)) ?? null;
}

/** `--plain-http` as the library has it. */
export function camelCase(flag: string): string {
  return flag.replace(/^-+/, "").replace(/-+(\w)/g, (_, letter: string) => letter.toUpperCase());
}
