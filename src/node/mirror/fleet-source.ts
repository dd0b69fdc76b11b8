/** Sources of the mirror's fleets: a lock on this node, or the index in the registry. */

import { stat } from "node:fs/promises";
import { exitCodes, ImgmatchError, type ProblemCode } from "../../errors.ts";
import { fetchLock } from "../../lock/fetch-lock.ts";
import type { FindTrust, IndexReader } from "../../lock/index-trust.ts";
import { readLock } from "../../lock/lock-file.ts";
import type { Lock } from "../../lock/lock.ts";
import { type ImageReference, parseImageReference, withTag } from "../../oci/reference.ts";
import { slug } from "../../oci/slug.ts";
import { leftOutLines } from "../../resolve/answer-lines.ts";

export interface FleetSource {
  readonly registry: string;
  readonly repository: string;
  /**
   * The fleet of a tag; null where the tag is something else. Throws `Challenged` where the registry wants a login, and
   * `ImgmatchError` where nobody can say.
   */
  readonly lockOf: (tag: string, authorization: string | null) => Promise<Lock | null>;
  /** The fleets that were read, for what is asked by digest. */
  readonly locks: () => readonly Lock[];
  /** The one fleet that it is the source of, as it is now; null for a source of every version. Answers and throws as `lockOf`. */
  readonly current: (() => Promise<Lock | null>) | null;
}

export interface SourceOptions {
  /** Milliseconds, for the age of answers. */
  readonly now: () => number;
  /** Hears of what is not worth a refusal: an older answer was given, a file cannot be read. */
  readonly tell: (message: string) => void;
}

/**
 * Read again when the file changes; a file that cannot be read leaves the fleet as it was. Throws as `readLock` does.
 */
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
      tell(`${path} is left aside: ${error instanceof Error ? error.message : error}`);
    }
    return lock;
  }
  return {
    registry,
    repository,
    lockOf: async (tag) => {
      // As `imgmatch publish` names the index of a version.
      const { version } = await current();
      return tag === slug(version) ? lock : null;
    },
    locks: () => [lock],
    current,
  };
}

/** Changes whenever the file does; null where there is none. */
async function stampOf(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`;
}

export interface RegistryFleetOptions extends SourceOptions {
  readonly readerFor: (authorization: string | null) => IndexReader;
  /** Folder of the last good answers; null for none. */
  readonly cache: string | null;
  /** The signers that have to vouch for an index; null to believe the registry. */
  readonly trust: FindTrust | null;
}

/** For so long an answer of the registry is not asked for again. */
const freshMs = 10_000;

const mostKnown = 256;

/** The tag is none of a fleet: whoever asks gets it from the registry. */
const notAFleet: readonly ProblemCode[] = ["INDEX_NOT_FOUND", "INDEX_INVALID", "INDEX_FORMAT"];

/** The fleets under a reference, each as the registry shows it to who asks. Nothing is read before somebody asks. */
export function registryFleet(reference: ImageReference, options: RegistryFleetOptions): FleetSource {
  const { registry, repository, tag: only } = reference;
  const known = createRecent<{ readonly lock: Lock | null; readonly at: number }>(mostKnown);
  const pending = new Map<string, Promise<Lock | null>>();

  async function ask(key: string, tag: string, authorization: string | null): Promise<Lock | null> {
    const last = known.get(key);
    const before = last?.lock ?? null;
    let lock: Lock | null;
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
      // The same object for the same index, for what is remembered of it.
      lock = before !== null && read.matrixDigest === before.matrixDigest ? before : read;
      if (lock !== before) leftOutLines(lock).forEach(options.tell);
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code === "REGISTRY_AUTH") throw error;
      // An index that nobody vouches for is an answer too: the one before does not stand in for it.
      if (error.exitCode === exitCodes.conflict) {
        known.forget(key);
        throw error;
      }
      if (error.code === "INDEX_FORMAT") options.tell(error.message);
      // The registry would give who is sent there what nobody has signed.
      if (notAFleet.includes(error.code) && trust?.asksSignature) throw error;
      if (notAFleet.includes(error.code)) lock = null;
      else if (before === null) throw error;
      else {
        options.tell(`${error.problems[0].message}; answered from the index that was read before`);
        lock = before;
      }
    }
    known.set(key, { lock, at: options.now() });
    return lock;
  }

  const lockOf: FleetSource["lockOf"] = (tag, authorization) => {
    if (only !== null && tag !== only) return Promise.resolve(null);
    const key = `${tag} ${authorization ?? ""}`;
    const last = known.get(key);
    if (last !== undefined && options.now() - last.at < freshMs) return Promise.resolve(last.lock);
    const asked = pending.get(key) ?? ask(key, tag, authorization).finally(() => pending.delete(key));
    pending.set(key, asked);
    return asked;
  };

  return {
    registry,
    repository,
    lockOf,
    locks: () => known.values().flatMap(({ lock }) => (lock === null ? [] : [lock])),
    current: only === null ? null : () => lockOf(only, null),
  };
}

/** A map that forgets what was set longest ago: what others can fill must not grow for ever. */
interface Recent<Value> {
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
