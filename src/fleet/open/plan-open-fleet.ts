/** Plans an open fleet: finds the digests of all bases, and compares each cell with the lock. */

import { InternalError, usageError } from "../../errors.ts";
import {
  rebuildWord,
  type LockPins,
  type LockedBase,
  type LockedBaseConfig,
  type LockedLocal,
} from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { compareText, remember } from "../../io/collections.ts";
import type { ImageConfig } from "../../oci/registry/platform-image.ts";
import type { ContextListing } from "../dockerfile/context.ts";
import { cellContexts, decidedUse } from "../dockerfile/cell-context.ts";
import type { Cell } from "../cells/cell.ts";
import { oncePer, oncePerText } from "../cells/once-per.ts";
import { planFleet, type CellSources, type PlanFleetOptions } from "../plan/plan-fleet.ts";
import type { CellDockerfile } from "./cell-dockerfile.ts";
import { checkedCells, type Fleet } from "./open-fleet.ts";
import { builtOnLocal, parentImages } from "./parent-images.ts";
import { replacementsFor, replacementsOf } from "./replace-bases.ts";
import type { Plan, PlannedBase } from "../plan/planned-cell.ts";

/** The digest of a base image's manifest or index; null if it cannot be found. */
export type FindBaseDigest = (ref: string) => Promise<Digest | null>;

/** The configuration of a base's image for a platform; null if it cannot be read. */
export type ReadBase = (
  ref: string,
  digest: Digest,
  platform: string,
) => Promise<Pick<ImageConfig, "env" | "onbuild"> | null>;

/** The image that an engine has under this name; null for none. */
export type FindLocalBase = (ref: string) => Promise<LockedLocal | null>;

export interface FleetPlanOptions extends PlanFleetOptions {
  /** The source of base digests and of rebuild words. Default: the lock. */
  readonly pins?: LockPins;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: ReadonlyMap<string, string>;
  /** The word of `build --no-cache`: another word than the lock's builds a cell anew. Default: the lock's word of each cell. */
  readonly rebuild?: string | undefined;
  /** Called once for every base that has no digest in its reference or in the lock. */
  readonly findBaseDigest: FindBaseDigest;
  /** Called for a base whose digest is not found. The lock's local bases are asked for again. Default: no engine is asked. */
  readonly findLocalBase?: FindLocalBase;
  /** Called once for every base that may decide which files a new image takes, unless the lock has its configuration. Default: not read. */
  readonly readBase?: ReadBase;
}

/** Plans a fleet. The cells of a base without a known digest have no input digest. Throws `SELECTION_…`, `TEMPLATE_IGNORES_AXIS`. */
export async function planOpenFleet(fleet: Fleet, options: FleetPlanOptions): Promise<Plan> {
  const replace = replacementsOf(fleet, options.replaceBases ?? new Map());
  const parents = await parentImages(fleet, (parent, lock) =>
    planOpenFleet(parent, {
      lock,
      ...(options.published && { published: true }),
      ...(options.held && { held: options.held }),
      replaceBases: replacementsFor(parent, options.replaceBases ?? new Map()),
      // A base without a pin in the parent's lock means that the parent is not built: no registry need be asked.
      findBaseDigest: async () => null,
    }),
  );
  const chosen = checkedCells(fleet, options.only ?? []).map((cell) => ({
    cell,
    dockerfile: fleet.dockerfileOf(cell),
  }));
  const pins = options.pins ?? options.lock;
  const pinOf = pinsOf(pins);
  const rebuildOf = rebuildsOf(pins, options.rebuild);
  const digestIn = oncePerText((ref) => parseImageReference(ref).digest);
  // Cells with the same Dockerfile instructions share bases and context. A cell in the lock may have pins of its own.
  const formOf = ({ cell, dockerfile }: RenderedCell): object =>
    (pins?.images[cell.id] ?? options.lock?.images[cell.id]) === undefined ? dockerfile.bases : cell;
  const forms = [...new Map(chosen.map((each) => [formOf(each), each])).values()];
  const lookups = new Map<string, ReturnType<typeof findBase>>();
  const baseOf = async (ref: string, cell: Cell): Promise<PlannedBase> => {
    const parent = parents.get(ref);
    if (parent !== undefined) return parent.base;
    const used = replace.get(ref) ?? ref;
    const written = digestIn(used);
    if (written !== null) return { ref, used, digest: written };
    const pin = pinOf(used, cell);
    const isOpen = pin === null || (options.findLocalBase !== undefined && pin.local !== undefined);
    const answer = isOpen ? await remember(lookups, used, () => findBase(used, options)) : null;
    const { digest = null, local } = answer ?? pin ?? {};
    return { ref, used, digest, ...(local && { local }) };
  };
  const configured = configReader(pins, options.readBase);
  const contextOf = oncePer((listing: ContextListing) => cellContexts(listing));
  const shared = new Map(
    await Promise.all(
      forms.map(async (each) => {
        const { cell, dockerfile } = each;
        const bases = await Promise.all(
          dockerfile.bases.map(async ({ ref }) => configured(await baseOf(ref, cell), each)),
        );
        const context = await contextOf(fleet.folderOf(cell).listing)(decidedUse(dockerfile.use, bases));
        return [formOf(each), { bases, context }] as const;
      }),
    ),
  );
  const sources = new Map<string, CellSources>();
  for (const each of chosen) {
    const { cell, dockerfile } = each;
    const form = shared.get(formOf(each));
    if (form === undefined) throw new InternalError(`${cell.id} has no bases and context`);
    const builtOn = builtOnLocal(form.bases, parents, options.lock?.images[cell.id]);
    sources.set(cell.id, { dockerfile, ...form, rebuild: rebuildOf(cell), ...(builtOn && { builtOn }) });
  }
  return planFleet(fleet.matrix, fleet.cells, sources, options);
}

interface RenderedCell {
  readonly cell: Cell;
  readonly dockerfile: CellDockerfile;
}

/**
 * Adds to a base its configuration, if that decides which files are taken. While an image's Dockerfile and base stay, the lock decides: an
 * image that was built while its base could not be read is not built again when it can.
 */
function configReader(
  pins: LockPins | null,
  readBase: ReadBase = async () => null,
): (base: PlannedBase, each: RenderedCell) => Promise<PlannedBase> {
  const knownOf = lockedConfigs(pins);
  const reads = new Map<string, Promise<LockedBaseConfig | null>>();
  const configOf = async (
    { ref, used, digest, local }: PlannedBase,
    { cell, dockerfile: { use, bare } }: RenderedCell,
  ): Promise<LockedBaseConfig | null> => {
    if (digest === null || local !== undefined || use.whole !== null) return null;
    if (!use.bases.some((each) => each.ref === ref)) return null;
    const known = knownOf(used, digest, { cell, bare });
    if (known !== undefined) return known;
    return remember(reads, `${used} ${digest} ${cell.platform}`, async () => {
      const read = await readBase(used, digest, cell.platform);
      return read === null ? null : { onbuild: read.onbuild, env: namesIn(read.env) };
    });
  };
  return async (base, each) => {
    const config = await configOf(base, each);
    return config === null ? base : { ...base, config };
  };
}

/** The names of `NAME=value`, without `PATH`: every image has it, and no `COPY` names files by it. */
function namesIn(env: readonly string[]): readonly string[] {
  const names = env.map((each) => each.replace(/=.*$/s, "")).filter((name) => name !== "" && name !== "PATH");
  return [...new Set(names)].sort();
}

/** The configuration of a base in the lock: null if the cell was built on it while it could not be read, undefined if it is not there. */
function lockedConfigs(
  lock: LockPins | null,
): (
  ref: string,
  digest: Digest,
  dockerfile: { readonly cell: Cell; readonly bare: string },
) => LockedBaseConfig | null | undefined {
  const known = new Map<string, LockedBaseConfig>();
  for (const { platform, bases, nextBases = [] } of Object.values(lock?.images ?? {})) {
    for (const { ref, digest, config } of [...nextBases, ...bases])
      if (config !== undefined) known.set(`${ref} ${digest} ${platform}`, config);
  }
  return (ref, digest, { cell, bare }) => {
    const found = known.get(`${ref} ${digest} ${cell.platform}`);
    if (found !== undefined) return found;
    const image = lock?.images[cell.id];
    const isBuilt = image?.bases.some((base) => base.ref === ref && base.digest === digest) ?? false;
    return isBuilt && image?.inputs?.dockerfile === digestOf(bare) ? null : undefined;
  };
}

async function findBase(
  ref: string,
  { findBaseDigest, findLocalBase }: FleetPlanOptions,
): Promise<Pick<LockedBase, "digest" | "local"> | null> {
  const digest = await findBaseDigest(ref);
  if (digest !== null) return { digest };
  const image = (await findLocalBase?.(ref)) ?? null;
  return image === null ? null : { digest: image.id, local: image.engine };
}

/** The lock pins bases: a tag that moves changes nothing until somebody updates the bases. */
function pinsOf(lock: LockPins | null): (ref: string, cell: Cell) => LockedBase | null {
  const pins = new Map<string, LockedBase>();
  const images = Object.values(lock?.images ?? {});
  // `lock --update-bases` wrote `nextBases`: they go before the bases that images were built on.
  for (const base of [
    ...images.flatMap(({ nextBases = [] }) => nextBases),
    ...images.flatMap(({ bases }) => bases),
  ]) {
    if (!pins.has(base.ref)) pins.set(base.ref, base);
  }
  return (ref, { id }) => {
    const image = lock?.images[id];
    const ownPin = [...(image?.nextBases ?? []), ...(image?.bases ?? [])].find((base) => base.ref === ref);
    return ownPin ?? pins.get(ref) ?? null;
  };
}

/**
 * The rebuild word of each cell. The word of `--no-cache` comes first. Else a cell keeps the word of its lock entry, so that the next build
 * does not go back. A cell without an entry takes the greatest word of the others, so that its steps are as new as theirs. Null if there is
 * none. Throws `USAGE` for an invalid word.
 */
function rebuildsOf(lock: LockPins | null, word: string | undefined): (cell: Cell) => string | null {
  if (word !== undefined && !rebuildWord.test(word)) {
    throw usageError(
      `${JSON.stringify(word)} is not a valid word for a rebuild`,
      "write --no-cache=2026-W47: at most 64 letters, digits and . _ : -",
    );
  }
  const images = lock?.images ?? {};
  const words = Object.values(images).flatMap(({ inputs }) => inputs?.rebuild ?? []);
  const last = words.sort(compareText).at(-1) ?? null;
  return ({ id }) => {
    if (word !== undefined) return word;
    return Object.hasOwn(images, id) ? (images[id]?.inputs?.rebuild ?? null) : last;
  };
}
