/**
 * Large buffers that are used again and again. What is new for every file waits for a collection of garbage, which comes after 64 MiB
 * in each thread.
 */

/** What a file is gone through in: of one length, so that each reader finds the buffer of the one before it. */
export const windowBytes = 2 ** 20;

const free: ArrayBuffer[] = [];
/** More at once are rare; what is given back beyond it is let go. */
const maxFree = 4;

/** With whatever was in it before. */
export function borrowBuffer(length: number): ArrayBuffer {
  const index = free.findIndex(({ byteLength }) => byteLength === length);
  return index === -1 ? new ArrayBuffer(length) : (free.splice(index, 1)[0] ?? new ArrayBuffer(length));
}

export function giveBack(buffer: ArrayBuffer): void {
  if (free.length < maxFree) free.push(buffer);
}

/** A buffer for as long as something is done with it. */
export async function withBuffer<Result>(
  length: number,
  use: (buffer: Uint8Array) => Promise<Result>,
): Promise<Result> {
  const buffer = borrowBuffer(length);
  try {
    return await use(new Uint8Array(buffer));
  } finally {
    giveBack(buffer);
  }
}
