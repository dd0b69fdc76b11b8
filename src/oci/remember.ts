/** What was made once is not made again. */

/** A `Map` or a `WeakMap`. */
interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** What is known of this key, else what `make` makes, which is known from then on. */
export function remember<Key, Value>(known: Memory<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
