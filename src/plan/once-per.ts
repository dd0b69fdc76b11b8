/**
 * Thousands of cells share a few values. What is made of a value alone is made once, and forgotten with it.
 *
 * @example
 * const flagsOf = oncePer((march: MarchValue) => compilerFlags(march));
 */
export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, { readonly value: Made }>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known.value;
    const value = make(key);
    made.set(key, { value });
    return value;
  };
}
