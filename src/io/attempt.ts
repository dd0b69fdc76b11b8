/** For what may be missing, forbidden or gone without a word. */

/** What `make` answers, or `other` where it throws. */
export function attempt<T, U>(make: () => T, other: U): T | U {
  try {
    return make();
  } catch {
    return other;
  }
}
