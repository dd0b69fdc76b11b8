/** `imgmatch audit`: the images of a fleet that exists are opened, and what is declared of them compared with what their files show. */

import type { BuildWatch } from "../build/engine.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import { engineArchive } from "../inspect/image/from-engine.ts";
import type { LayerCache } from "../inspect/image/layer-cache.ts";
import { type DeclaredImage, imageAuditor } from "../inspect/audit/image-examiner.ts";
import type { Lock, LockedImage, Measured } from "../lock/lock.ts";
import { parseImageReference, withDigest } from "../oci/reference.ts";
import type { PlannedCell } from "../plan/planned-cell.ts";
import type { Selection } from "../plan/select.ts";
import type { RegistryClient } from "../registry/client.ts";
import { declaredImage } from "./declared-image.ts";
import type { Fleet } from "./open-fleet.ts";
import { planOpenFleet } from "./plan-open-fleet.ts";

export interface AuditFleetOptions {
  readonly lock: Lock;
  readonly only: readonly Selection[];
  /** As when it was built. */
  readonly replaceBases: ReadonlyMap<string, string>;
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

export interface FleetAudit {
  /** In the order of the matrix. */
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
  const { lock, only, replaceBases, remote, signal, onImage = () => {} } = options;
  const plan = await planOpenFleet(fleet, {
    ...{ lock, only, replaceBases },
    published: false,
    findBaseDigest: async () => null,
  });
  const built = plan.cells.filter(isBuilt);
  const wanted = built.filter(({ locked }) => !remote || locked.digest !== null);
  const declared = new Map(
    wanted.map((planned) => [planned.cell.id, declaredOf(fleet, plan.matrix, planned)]),
  );
  const audit = imageAuditor({
    ...options,
    declared: (cell) => declared.get(cell) ?? null,
    holder: { save: ({ id }) => engineArchive(options.env, id, signal), push: null },
  });
  const cells: AuditedCell[] = [];
  for (const { cell, locked } of wanted) {
    signal.throwIfAborted();
    onImage(cell.id, cells.length, wanted.length);
    cells.push(await auditCell(cell.id, lock.repository, locked, audit, { signal, onLog: () => {} }));
  }
  return {
    cells,
    unpublished: built.filter((planned) => !wanted.includes(planned)).map(({ cell }) => cell.id),
  };
}

type BuiltCell = PlannedCell & { readonly locked: LockedImage };

function isBuilt(planned: PlannedCell): planned is BuiltCell {
  return planned.locked?.created != null;
}

/** What the lock promises, on the bases that it names: the matrix may say something else by now. */
function declaredOf(fleet: Fleet, matrix: Fleet["matrix"], planned: BuiltCell): DeclaredImage | null {
  const { locked } = planned;
  const digests = new Map(locked.bases.map(({ ref, digest }) => [ref, digest]));
  const bases = planned.bases.map((base) => ({ ...base, digest: digests.get(base.used) ?? null }));
  const found = declaredImage(matrix, fleet, { ...planned, bases });
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
