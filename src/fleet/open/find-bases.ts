/** Finds the images that Dockerfiles start from: in the lock, in registries, and in engines. */

import { memoizeText } from "../cells/memoize-by.ts";
import { remember } from "../../io/collections.ts";
import type { LockedBase, LockedBaseConfig, LockedLocal, LockPins } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { ImageConfig } from "../../oci/registry/platform-image.ts";
import type { PlannedBase } from "../plan/planned-cell.ts";
import type { CellWithDockerfile } from "./cell-dockerfile.ts";
import type { ParentImage } from "./parent-images.ts";

/** The digest of a base image's manifest or index; null if it cannot be found. */
export type FindBaseDigest = (ref: string) => Promise<Digest | null>;

/** The configuration of a base's image for a platform; null if it cannot be read. */
export type ReadBase = (
  ref: string,
  digest: Digest,
  platform: string,
) => Promise<(Pick<ImageConfig, "env" | "onbuild"> & Partial<Pick<ImageConfig, "start">>) | null>;

/** The image that an engine has under this name; null for none. */
export type FindLocalBase = (ref: string) => Promise<LockedLocal | null>;

export interface BaseSources {
  /** Called once for every base that has no digest in its reference or in the lock. Default: no registry is asked. */
  readonly findBaseDigest?: FindBaseDigest;
  /** Called for a base whose digest is not found. The lock's local bases are asked for again. Default: no engine is asked. */
  readonly findLocalBase?: FindLocalBase;
  /**
   * Called once for each base that may decide which files a new image takes, unless the lock has the base's configuration. Default: not read.
   */
  readonly readBase?: ReadBase;
  /** The engine ignores `# syntax=`: a front end whose digest nobody knows is no base of the image. Default: it is one. */
  readonly leavesFrontEnd?: boolean;
}

/**
 * The function that finds the bases of a cell; `replace` names for a base the one to build with instead. The digest of a base is that of
 * another fleet's image, else the one written in the reference, else the lock's pin, else the registry's, else the id of the engine's image,
 * else null.
 */
export function baseFinder(
  pins: LockPins | null,
  replace: ReadonlyMap<string, string>,
  parents: ReadonlyMap<string, ParentImage>,
  sources: BaseSources,
): (of: CellWithDockerfile) => Promise<readonly PlannedBase[]> {
  const locked = lockedBases(pins);
  const writtenDigest = memoizeText((ref) => parseImageReference(ref).digest);
  const found = new Map<string, ReturnType<typeof findBase>>();
  const read = new Map<string, Promise<LockedBaseConfig | null>>();

  const baseOf = async (ref: string, { cell }: CellWithDockerfile): Promise<PlannedBase> => {
    const parent = parents.get(ref);
    if (parent !== undefined) return parent.base;
    const used = replace.get(ref) ?? ref;
    const written = writtenDigest(used);
    if (written !== null) return { ref, used, digest: written };
    const pin = locked.pinOf(used, cell.id);
    const isAsked = pin === null || (sources.findLocalBase !== undefined && pin.local !== undefined);
    const answer = isAsked ? await remember(found, used, () => findBase(used, sources)) : null;
    const { digest = null, local } = answer ?? pin ?? {};
    return { ref, used, digest, ...(local && { local }) };
  };

  const configOf = async (base: PlannedBase, of: CellWithDockerfile): Promise<LockedBaseConfig | null> => {
    const { used, digest } = base;
    const decidesStart = of.dockerfile.start?.base === base.ref;
    if (digest === null || !(decidesStart || mayDecideFiles(base, of))) return null;
    const known = locked.configOf(base, of);
    if (known !== undefined && (!decidesStart || known?.start !== undefined)) return known;
    const { platform } = of.cell;
    return remember(read, `${used} ${digest} ${platform} ${decidesStart}`, async () => {
      const config = (await sources.readBase?.(used, digest, platform)) ?? null;
      if (config === null) return null;
      const start = decidesStart && config.start ? { start: config.start } : {};
      return { onbuild: config.onbuild, env: namesIn(config.env), ...start };
    });
  };

  return async (of) => {
    const bases = of.dockerfile.bases.map(async ({ ref, isFrontEnd }) => {
      const base = await baseOf(ref, of);
      if (base.digest === null && isFrontEnd && sources.leavesFrontEnd) return null;
      const config = await configOf(base, of);
      return config === null ? base : { ...base, config };
    });
    return (await Promise.all(bases)).filter((base) => base !== null);
  };
}

async function findBase(
  ref: string,
  { findBaseDigest, findLocalBase }: BaseSources,
): Promise<Pick<LockedBase, "digest" | "local"> | null> {
  const digest = (await findBaseDigest?.(ref)) ?? null;
  if (digest !== null) return { digest };
  const image = (await findLocalBase?.(ref)) ?? null;
  return image === null ? null : { digest: image.id, local: image.engine };
}

/** True if the `ONBUILD` and `ENV` of a base may take files of the context that the Dockerfile's own text does not. */
function mayDecideFiles({ ref, local }: PlannedBase, { dockerfile: { use } }: CellWithDockerfile): boolean {
  return local === undefined && use.whole === null && use.bases.some((each) => each.ref === ref);
}

/** The names of `NAME=value`, without `PATH`: every image has it, and no `COPY` names files by it. */
function namesIn(env: readonly string[]): readonly string[] {
  const names = env.map((each) => each.replace(/=.*$/s, "")).filter((name) => name !== "" && name !== "PATH");
  return [...new Set(names)].sort();
}

/** A lock pins bases: a tag that moves changes nothing until somebody updates the bases. */
function lockedBases(lock: LockPins | null) {
  const images = Object.values(lock?.images ?? {});
  const pins = new Map<string, LockedBase>();
  // `lock --update-bases` wrote `nextBases`: they go before the bases that images were built on.
  const next = images.flatMap(({ nextBases = [] }) => nextBases);
  for (const base of [...next, ...images.flatMap(({ bases }) => bases)])
    if (!pins.has(base.ref)) pins.set(base.ref, base);
  const configs = new Map<string, LockedBaseConfig>();
  for (const { platform, bases, nextBases = [] } of images) {
    for (const { ref, digest, config } of [...nextBases, ...bases])
      if (config !== undefined) configs.set(`${ref} ${digest} ${platform}`, config);
  }
  return {
    /** The pin of a base for a cell: its own, or one of another cell. Null for a base that the lock does not have. */
    pinOf(ref: string, cellId: string): LockedBase | null {
      const { bases = [], nextBases = [] } = lock?.images[cellId] ?? {};
      return [...nextBases, ...bases].find((base) => base.ref === ref) ?? pins.get(ref) ?? null;
    },
    /**
     * The configuration of a base. Null if the cell was built on the base while nobody could read it: the image is not built again when
     * somebody can. Undefined if the lock does not decide.
     */
    configOf({ used, digest }: PlannedBase, { cell, dockerfile }: CellWithDockerfile) {
      const found = configs.get(`${used} ${digest} ${cell.platform}`);
      if (found !== undefined) return found;
      const image = lock?.images[cell.id];
      const isBuiltOn = image?.bases.some((base) => base.ref === used && base.digest === digest) ?? false;
      return isBuiltOn && image?.inputs?.dockerfile === digestOf(dockerfile.bare) ? null : undefined;
    },
  };
}
