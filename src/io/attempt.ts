/** Answers with the value of `make`, or with `other` if it throws: for files and programs that may be missing. */
export function attempt<T, U>(make: () => T, other: U): T | U {
  try {
    return make();
  } catch {
    return other;
  }
}
