/** For what may be missing, forbidden or gone without a word. */

/** Answers with the value of `make`, or with `other` if it throws. */
export function attempt<T, U>(make: () => T, other: U): T | U {
  try {
    return make();
  } catch {
    return other;
  }
}
