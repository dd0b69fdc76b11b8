/**
 * Files that may hang, as a network's do whose server is away: they are looked at by a thread of Node's pool, beside the answers, and
 * read only where the file system has just answered. Reading them in the mirror's own thread would stop the mirror.
 */

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { late, within } from "./within.ts";

export const hangs = Symbol("hangs");

/** Leaves time for the registry and the answer within the mirror's two seconds. */
const patienceMs = 300;

/** Who asks while a look is under way shares it, and while one hangs no other is begun: each would keep one of the pool's four threads. */
export function lookBeside<Value>(look: () => Promise<Value>): () => Promise<Value | typeof hangs> {
  let underWay: Promise<Value> | null = null;
  let isStuck = false;
  return async () => {
    if (isStuck) return hangs;
    underWay ??= look().finally(() => {
      underWay = null;
      isStuck = false;
    });
    const found = await within(patienceMs, underWay);
    if (found !== late) return found;
    isStuck = underWay !== null;
    return hangs;
  };
}

/** Changes whenever the file does; null where there is none. One that has changed since `known` is read once, so that the system has it at hand. */
export async function stampOf(path: string, mostBytes: number, known: string | null): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  const stamp = found && `${found.ino} ${found.size} ${found.mtimeMs}`;
  if (stamp !== null && stamp !== known) await readThrough(path, mostBytes);
  return stamp;
}

async function readThrough(path: string, mostBytes: number): Promise<void> {
  try {
    for await (const _ of createReadStream(path, { end: mostBytes })) {
      // What is in it is the reader's affair, and so is what stands in its way.
    }
  } catch {}
}

/** Asks for what no cache of the system can know: a name that never was. */
export async function knock(folder: string): Promise<true> {
  await stat(join(folder, `.${randomUUID()}`)).catch(() => {});
  return true;
}
