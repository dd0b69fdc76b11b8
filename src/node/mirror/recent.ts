/** A map that forgets what was set longest ago: what others can fill must not grow for ever. */

export interface Recent<Value> {
  readonly get: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
  readonly forget: (key: string) => void;
  readonly values: () => readonly Value[];
}

export function createRecent<Value>(most: number): Recent<Value> {
  const kept = new Map<string, Value>();
  return {
    get: (key) => kept.get(key),
    set: (key, value) => {
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (kept.size <= most) break;
        kept.delete(oldest);
      }
    },
    forget: (key) => {
      kept.delete(key);
    },
    values: () => [...kept.values()],
  };
}
