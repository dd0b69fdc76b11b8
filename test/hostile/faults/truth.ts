/** What has to be true after a run that met a fault, and after the next one that met none. */

import { isDeepStrictEqual } from "node:util";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { isTransientTag } from "../../../src/oci/registry/transient-tag.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import type { Case } from "./cases.ts";
import type { Place, Ran, World } from "./world.ts";

export interface State {
  readonly lock: Lock;
  readonly tags: ReadonlyMap<string, string>;
  readonly parts: ReadonlyMap<string, readonly string[]>;
  readonly files: ReadonlyMap<string, string>;
}

export function stateOf(world: World, { lock }: Case): State {
  const files = world.files();
  const tags = world.tags();
  const parts = new Map([...tags.keys()].map((name) => [name, partsOf(world, name)]));
  return { lock: parseLock(files.get(`project/${lock}`) ?? "", lock), tags, parts, files };
}

/** Without the times, how long a build took, and what the engine says of the image's size: an image that is taken over has none of these. */
function timeless(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) =>
      ["at", "buildSeconds", "created", "size"].includes(key) ? undefined : each,
    ),
  );
}

const same = (one: unknown, other: unknown) =>
  isDeepStrictEqual(timeless(one ?? null), timeless(other ?? null));
const tagOf = (name: string) => name.slice(name.lastIndexOf(":") + 1);
/** A history names times, so its digest says nothing. */
const isHistory = (name: string) => tagOf(name).startsWith("sha256-");

/** Each part of the lock is that of before or that of after, and no image of before is gone. */
function lockLies(now: Lock, before: Lock, after: Lock): readonly string[] {
  const { images, ...head } = now;
  const keys = Object.keys({ ...head, ...after, ...before }) as (keyof Lock)[];
  return [
    ...keys
      .filter((key) => key !== "images" && !same(now[key], before[key]) && !same(now[key], after[key]))
      .map((key) => `the lock has another ${key}`),
    ...Object.keys({ ...before.images, ...images })
      .filter(
        (cell) =>
          ![before, after].some(({ images: known }) => known[cell] && same(images[cell], known[cell])),
      )
      .map((cell) => `the lock has ${cell} as ${JSON.stringify(images[cell])}`),
  ];
}

/** The digests that the content of a tag names. */
function partsOf({ registry }: World, name: string): readonly string[] {
  const { tags, manifests } = registry.repository(name.slice(0, name.lastIndexOf(":")));
  const bytes = manifests.get(tags.get(tagOf(name)) ?? "sha256:")?.bytes ?? [];
  const { manifests: parts = [] } = JSON.parse(Buffer.from(bytes).toString() || "{}");
  return parts.map(({ digest }: { readonly digest: string }) => digest);
}

/** Each tag is as before or as after, or an index of some of the images; and what it names is there. */
function tagLies({ registry }: World, now: State, before: State, after: State): readonly string[] {
  const lies: string[] = [];
  for (const name of new Set([...now.tags.keys(), ...before.tags.keys()])) {
    const digest = now.tags.get(name);
    if (isTransientTag(tagOf(name))) continue;
    const parts = now.parts.get(name) ?? [];
    const isKnown = [before, after].some(({ tags }) =>
      isHistory(name) ? tags.has(name) : tags.get(name) === digest,
    );
    const isPart = parts.length > 0 && parts.every((part) => after.parts.get(name)?.includes(part));
    if (!isKnown && !isPart) lies.push(`${name} holds ${digest}`);
    const { manifests } = registry.repository(name.slice(0, name.lastIndexOf(":")));
    for (const part of parts)
      if (!manifests.has(part as Digest)) lies.push(`${name} names ${part}, which is nowhere`);
  }
  return lies;
}

/** Nothing is said to be done that is not. */
function ended(now: State, after: State): readonly string[] {
  const lasting = (tags: State["tags"]) =>
    [...tags.keys()].filter((name) => !isTransientTag(tagOf(name))).sort();
  const named = ({ files }: State) => [...files].filter(([path]) => path.startsWith("engine/named/"));
  return [
    ...(same(now.lock, after.lock) ? [] : ["the lock is not the one of a whole run"]),
    ...(same(lasting(now.tags), lasting(after.tags)) ? [] : [`the tags are ${lasting(now.tags)}`]),
    ...[...after.tags]
      .filter(([name, digest]) => !isHistory(name) && now.tags.get(name) !== digest)
      .map(([name]) => `${name} is another`),
    ...(same(named(now), named(after)) ? [] : [`the engine has ${named(now)}`]),
  ];
}

/** Files that neither the start nor a whole run has. */
function left(now: State, before: State, after: State): readonly string[] {
  const known = (path: string) =>
    path.startsWith("engine/") || before.files.has(path) || after.files.has(path);
  return [...now.files.keys()].filter((path) => !known(path)).map((path) => `${path} is left`);
}

const standing = (tags: State["tags"]) => [...tags.keys()].filter((name) => isTransientTag(tagOf(name)));

/** Answers what is not true; `met` is null where the run did not come to that place. */
export async function tryFault(world: World, one: Case, place: Place, before: State, after: State) {
  const lies: string[] = [];
  const ran = await world.run(one.args(world), place);
  const { met } = ran;
  if (met === null) return { met, lies };
  const isRemoval = place.of === "process" && met.what.startsWith("remove");
  const check = (when: string, what: () => readonly string[]) => {
    try {
      lies.push(...what().map((lie) => `${when}: ${lie}`));
    } catch (error) {
      lies.push(`${when}: ${String(error)}`);
    }
  };
  check(`exit ${ran.status}`, () => {
    const now = stateOf(world, one);
    return [
      ...lockLies(now.lock, before.lock, after.lock),
      ...tagLies(world, now, before, after),
      ...(ran.status === 0 ? ended(now, after) : []),
      ...(ran.status !== 0 || ran.stdout.includes(one.says ?? "") ? [] : [`it says ${ran.stdout}`]),
      ...doneLies(ran, now, after),
      ...(isRemoval ? [] : left(now, before, after)),
      ...words(ran),
    ];
  });
  const now = [...world.files(), ...world.tags()];
  // As nothing has happened, the next run is the first one.
  if (isDeepStrictEqual(now, [...before.files, ...before.tags])) return { met, lies };
  const next = await world.run(one.args(world));
  check("the next run", () => {
    const now = stateOf(world, one);
    return [
      ...(next.status === 0 ? ended(now, after) : [`ends with ${next.status}: ${next.stderr}`]),
      ...tagLies(world, now, before, after),
      ...left(now, before, after),
      ...standing(now.tags).map((name) => `${name} stands`),
    ];
  });
  return { met, lies };
}

function doneLies({ stdout }: Ran, now: State, after: State): readonly string[] {
  const done = [...stdout.matchAll(/^\{.*"type":"done".*\}$/gm)].map(
    ([line]) => JSON.parse(line).cell as string,
  );
  return done
    .filter((cell) => !same(now.lock.images[cell], after.lock.images[cell]))
    .map((cell) => `${cell} is said to be done, and the lock lacks it`);
}

/** A failure has a code, and is no bug. */
function words({ status, stdout, stderr }: Ran): readonly string[] {
  if (status === 0) return [];
  const said = stdout + stderr;
  const isNamed =
    status !== null && /\b[A-Z]+_[A-Z_]+\b/.test(said) && !/a bug in imgmatch|^ {4}at /m.test(said);
  return isNamed ? [] : [`it says ${said}`];
}
