/** A database that is not as its kind is: what it holds is not known. */

export class DamagedDatabase extends Error {
  override readonly name = "DamagedDatabase";
}

export interface PagedDatabase {
  readonly bytes: Uint8Array;
  readonly pageSize: number;
  readonly visit: (page: number) => void;
}

/** Pages that one thing alone may lead to: whoever comes to one again goes in circles. */
export function eachPageOnce(count: number): (page: number) => void {
  const seen = new Set<number>();
  return (page) => {
    if (page < 1 || page > count || seen.has(page)) throw new DamagedDatabase(`page ${page} of ${count}`);
    seen.add(page);
  };
}
