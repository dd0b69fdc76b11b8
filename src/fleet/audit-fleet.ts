/** `imgmatch audit`: the images of a fleet that exists are opened, and what is declared of them compared with what their files show. */

import type { BuildWatch } from "./build/engine.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import { engineArchive, engineLayers } from "../inspect/image/from-engine.ts";
import type { LayerCache } from "../inspect/image/layer-cache.ts";
import { type DeclaredImage, imageAuditor } from "./audit/image-examiner.ts";
import type { Lock, LockedImage, Measured } from "../lock/lock.ts";
import { parseImageReference, withDigest } from "../oci/reference.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import type { Selection } from "./cells/select.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { declaredImage } from "./declared-image.ts";
import type { Fleet } from "./open-fleet.ts";
import { planOpenFleet } from "./plan-open-fleet.ts";

/** How images are opened. */
export interface AuditOptions {
  readonly lock: Lock;
  readonly registry: RegistryClient;
  /** Where the engine is, for images that were built and never pushed. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks the registry alone: what was never pushed is left out. */
  readonly remote: boolean;
  readonly cache: LayerCache;
  /** Called before each image. */
  readonly onImage?: (cell: string, done: number, total: number) => void;
  readonly signal: AbortSignal;
}

export interface AuditFleetOptions extends AuditOptions {
  readonly only: readonly Selection[];
  /** As when it was built. */
  readonly replaceBases: ReadonlyMap<string, string>;
}

export interface FleetAudit {
  /** In the order of the matrix, or of the lock where others built the images. */
  readonly cells: readonly AuditedCell[];
  /** Cells of images that were never pushed and not asked for. */
  readonly unpublished: readonly string[];
}

export interface AuditedCell {
  readonly cell: string;
  /** As it was opened: `repository@sha256:…`, or the engine's `repository:tag`. */
  readonly image: string;
  readonly measured: Measured | null;
  /** `AUDIT_…`: declared and not true. */
  readonly lies: readonly Problem[];
  /** To be looked at by somebody. */
  readonly notes: readonly Problem[];
  /** Why it was not opened; null where it was. */
  readonly failure: Problem | null;
}

/** An image that cannot be opened does not stop the others. Throws what planning throws, and the signal's reason. */
export async function auditFleet(fleet: Fleet, options: AuditFleetOptions): Promise<FleetAudit> {
  const { lock, only, replaceBases } = options;
  const plan = await planOpenFleet(fleet, {
    ...{ lock, only, replaceBases },
    published: false,
    findBaseDigest: async () => null,
  });
  const subjects = plan.cells.filter(isBuilt).map((planned) => ({
    cell: planned.cell.id,
    locked: planned.locked,
    declared: declaredOf(fleet, plan.matrix, planned),
  }));
  return auditImages(subjects, options);
}

/**
 * Images that others built, of which there is no matrix: what the lock says of each, estimated or stated, is what is declared, and
 * no file is a base's. Throws the signal's reason.
 */
export async function auditAdopted(options: AuditOptions): Promise<FleetAudit> {
  const { images, repository } = options.lock;
  const subjects = Object.entries(images).map(([cell, locked]) => {
    const { requires, platform } = locked;
    return { cell, locked, declared: { requires, platform, floor: [], base: null } };
  });
  const { cells, unpublished } = await auditImages(subjects, options);
  const again = (cell: string) => (problem: Problem) => ({
    ...problem,
    fix: `adopt it again, and state what its files have: imgmatch adopt ${repository}:${images[cell]?.tag}`,
  });
  return {
    unpublished,
    cells: cells.map((found) => ({
      ...found,
      lies: found.lies.map(again(found.cell)),
      notes: found.notes.map(again(found.cell)),
    })),
  };
}

interface Subject {
  readonly cell: string;
  readonly locked: LockedImage;
  readonly declared: DeclaredImage | null;
}

async function auditImages(subjects: readonly Subject[], options: AuditOptions): Promise<FleetAudit> {
  const { lock, remote, signal, onImage = () => {} } = options;
  const wanted = subjects.filter(({ locked }) => !remote || locked.digest !== null);
  const declared = new Map(wanted.map((subject) => [subject.cell, subject.declared]));
  const audit = imageAuditor({
    ...options,
    declared: (cell) => declared.get(cell) ?? null,
    holder: {
      save: ({ id }) => engineArchive(options.env, id, signal),
      layers: remote ? null : ({ id }) => engineLayers(options.env, id, signal),
      push: null,
    },
  });
  const cells: AuditedCell[] = [];
  for (const { cell, locked } of wanted) {
    signal.throwIfAborted();
    onImage(cell, cells.length, wanted.length);
    cells.push(await auditCell(cell, lock.repository, locked, audit, { signal, onLog: () => {} }));
  }
  return {
    cells,
    unpublished: subjects.filter((subject) => !wanted.includes(subject)).map(({ cell }) => cell),
  };
}

type BuiltCell = PlannedCell & { readonly locked: LockedImage };

function isBuilt(planned: PlannedCell): planned is BuiltCell {
  return planned.locked?.created != null;
}

/** What the lock promises, on the bases that it names: the matrix may say something else by now. */
function declaredOf(fleet: Fleet, matrix: Fleet["matrix"], planned: BuiltCell): DeclaredImage | null {
  const { locked } = planned;
  const known = new Map(locked.bases.map((base) => [base.ref, base]));
  const bases = planned.bases.map(({ ref, used }) => {
    const { digest = null, local } = known.get(used) ?? {};
    return { ref, used, digest, ...(local && { local }) };
  });
  const found = declaredImage(matrix, { ...planned, bases });
  return found && { ...found, requires: locked.requires, platform: locked.platform };
}

async function auditCell(
  cell: string,
  repository: string,
  { digest, tag }: LockedImage,
  audit: ReturnType<typeof imageAuditor>,
  watch: BuildWatch,
): Promise<AuditedCell> {
  const name = digest === null ? `${repository}:${tag}` : `${repository}@${digest}`;
  const where =
    digest === null ? { id: name, size: null } : withDigest(parseImageReference(repository), digest);
  try {
    return { cell, image: name, ...(await audit({ cell, image: where }, watch)), failure: null };
  } catch (error) {
    watch.signal.throwIfAborted();
    if (!(error instanceof ImgmatchError)) throw error;
    return { cell, image: name, measured: null, lies: [], notes: [], failure: error.problems[0] };
  }
}
