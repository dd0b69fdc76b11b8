/** The sources of the mirror's fleets: a lock on this node, or indexes in a registry. */

import { stat } from "node:fs/promises";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { exitCodes, type ProblemCode } from "../../problem-codes.ts";
import { fetchLock } from "../../lock/store/fetch-lock.ts";
import type { FindTrust, IndexReader } from "../../lock/store/index-trust.ts";
import { readLock } from "../../lock/store/lock-file.ts";
import type { IndexLock, Lock } from "../../lock/lock.ts";
import { type ImageReference, parseImageReference, withTag } from "../../oci/reference.ts";
import { slug } from "../../oci/slug.ts";
import { leftOutLines } from "../../resolve/answer-lines.ts";

export interface FleetSource {
  readonly registry: string;
  readonly repository: string;
  /** The fleet of a tag; null for another tag. Throws `Challenged` if the registry wants a login, and `ImgmatchError` if it does not answer. */
  readonly lockOf: (tag: string, authorization: string | null) => Promise<Lock | null>;
  /** The fleets that were read, for requests by digest. */
  readonly locks: () => readonly Lock[];
  /** The fleet of a source with only one, as `lockOf`; null for a source of every version. */
  readonly current: (() => Promise<Lock | null>) | null;
}

export interface SourceOptions {
  /** The time in milliseconds. */
  readonly now: () => number;
  /** Gets warnings: an older answer was given, a file cannot be read. */
  readonly tell: (message: string) => void;
}

/** The fleet of a lock's file, read again when the file changes. If the new file is unreadable, the fleet stays. Throws as `readLock` does. */
export async function lockFleet(path: string, { tell }: Pick<SourceOptions, "tell">): Promise<FleetSource> {
  let stamp = await stampOf(path);
  let lock = await readLock(path);
  const { registry, repository } = parseImageReference(lock.repository);
  async function current(): Promise<Lock> {
    const next = await stampOf(path);
    if (next === stamp) return lock;
    stamp = next;
    try {
      const read = await readLock(path);
      if (read.repository !== lock.repository)
        throw new Error(`it is of ${read.repository} now, and this mirror serves ${lock.repository}`);
      lock = read;
    } catch (error) {
      tell(`${path} is left aside: ${faultOf(error)}`);
    }
    return lock;
  }
  return {
    registry,
    repository,
    lockOf: async (tag) => {
      // `imgmatch publish` gives the index of a version this tag.
      const { version } = await current();
      return tag === slug(version) ? lock : null;
    },
    locks: () => [lock],
    current,
  };
}

/** Changes whenever the file does; null without a file. */
async function stampOf(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`;
}

export interface RegistryFleetOptions extends SourceOptions {
  readonly readerFor: (authorization: string | null) => IndexReader;
  /** The folder of the last good answers; null for none. */
  readonly cache: string | null;
  /** The required signers of an index; null for none. */
  readonly trust: FindTrust | null;
}

/** A younger answer of the registry is used again. */
const freshMs = 10_000;

const mostKnown = 256;

/** These problems mean that the tag is not a fleet's. */
const notAFleet: readonly ProblemCode[] = ["INDEX_NOT_FOUND", "INDEX_INVALID", "INDEX_FORMAT"];

/** The fleets of a repository. Each caller gets a fleet as the registry shows it to that caller. */
export function registryFleet(reference: ImageReference, options: RegistryFleetOptions): FleetSource {
  const { registry, repository, tag: only } = reference;
  const known = createRecent<{ readonly lock: IndexLock | null; readonly at: number }>(mostKnown);
  const pending = new Map<string, Promise<IndexLock | null>>();

  async function ask(key: string, tag: string, authorization: string | null): Promise<IndexLock | null> {
    const last = known.get(key);
    const previous = last?.lock ?? null;
    let lock: IndexLock | null;
    const version = withTag(reference, tag);
    const trust = (await options.trust?.(version)) ?? null;
    try {
      const read = await fetchLock(version, {
        connect: async () => options.readerFor(authorization),
        cache: options.cache,
        trust: async () => trust,
        now: () => new Date(options.now()),
        tell: options.tell,
      });
      // An equal index stays the same object, by which caches know it.
      lock = previous !== null && read.indexDigest === previous.indexDigest ? previous : read;
      if (lock !== previous) leftOutLines(lock).forEach(options.tell);
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code === "REGISTRY_AUTH") throw error;
      // The previous index must not stand in for one that nobody signed.
      if (error.exitCode === exitCodes.conflict) {
        known.forget(key);
        throw error;
      }
      if (error.code === "INDEX_FORMAT") options.tell(error.problems[0].message);
      // Sent to the registry, the client would get an unsigned image.
      if (notAFleet.includes(error.code) && trust?.asksSignature) throw error;
      if (notAFleet.includes(error.code)) lock = null;
      else if (previous === null) throw error;
      else {
        options.tell(`${error.problems[0].message}; answered from the index that was read before`);
        lock = previous;
      }
    }
    known.set(key, { lock, at: options.now() });
    return lock;
  }

  const lockOf: FleetSource["lockOf"] = (tag, authorization) => {
    if (only !== null && tag !== only) return Promise.resolve(null);
    const key = `${tag} ${authorization ?? ""}`;
    const last = known.get(key);
    // A clock that was set back makes no answer fresh.
    if (last !== undefined && Math.abs(options.now() - last.at) < freshMs) return Promise.resolve(last.lock);
    const answer = pending.get(key) ?? ask(key, tag, authorization).finally(() => pending.delete(key));
    pending.set(key, answer);
    return answer;
  };

  return {
    registry,
    repository,
    lockOf,
    locks: () => known.values().flatMap(({ lock }) => (lock === null ? [] : [lock])),
    current: only === null ? null : () => lockOf(only, null),
  };
}

/** A map of bounded size: the entry that was set longest ago goes first. Clients can fill it. */
export function createRecent<Value>(most: number) {
  const kept = new Map<string, Value>();
  return {
    get: (key: string) => kept.get(key),
    set: (key: string, value: Value): void => {
      kept.delete(key);
      kept.set(key, value);
      for (const oldest of kept.keys()) {
        if (kept.size <= most) break;
        kept.delete(oldest);
      }
    },
    forget: (key: string) => kept.delete(key),
    values: (): readonly Value[] => [...kept.values()],
  };
}
