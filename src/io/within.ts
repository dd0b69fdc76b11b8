/** Waits for an answer, but not for ever. */

export const late = Symbol("late");

/** The answer, or {@link late} after the limit. */
export async function within<Value>(limitMs: number, answer: Promise<Value>): Promise<Value | typeof late> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), limitMs);
  });
  return Promise.race([answer, limit]).finally(() => clearTimeout(timer));
}
