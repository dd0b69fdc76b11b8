/** Many results, one file: what finishes while the file is being written is written together by the next write. */

/**
 * Returns a function that ends when its item is written. Writes never overlap; one that fails fails for its own items, and
 * the next is tried all the same.
 */
export function groupWrites<Item>(
  write: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  let waiting: Item[] = [];
  let next: Promise<void> | null = null;
  let last: Promise<void> = Promise.resolve();
  const writeWaiting = () => {
    const items = waiting;
    waiting = [];
    next = null;
    return write(items);
  };
  return (item) => {
    waiting.push(item);
    if (next === null) {
      next = last.catch(() => {}).then(writeWaiting);
      last = next;
    }
    return next;
  };
}
