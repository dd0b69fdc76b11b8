/** Works on files of a build context a few at a time: the system reads and copies some while another is hashed. */

import pLimit from "p-limit";

const filesAtOnce = 4;

/** Answers in the order of the items. After a failure nothing more begins, and its error comes when what has begun has ended. */
export async function atOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const limit = pLimit(filesAtOnce);
  const failures: unknown[] = [];
  const results: Result[] = [];
  const one = async (item: Item, at: number): Promise<void> => {
    if (failures.length > 0) return;
    try {
      results[at] = await work(item);
    } catch (error) {
      failures.push(error);
    }
  };
  await limit.map(items, one);
  if (failures.length > 0) throw failures[0];
  return results;
}
