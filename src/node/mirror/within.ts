/** Waiting for no longer than one has. */

export const late = Symbol("late");

export async function within<Value>(limitMs: number, answer: Promise<Value>): Promise<Value | typeof late> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), limitMs);
  });
  return Promise.race([answer, limit]).finally(() => clearTimeout(timer));
}
