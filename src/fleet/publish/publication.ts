/** Writes the indexes of a plan, and reports indexes and signatures: for `build`, `publish` and `promote`. */

import type { Problem } from "../../errors.ts";
import { levelNeeded } from "../../hardware/cpu-levels.ts";
import { count, firstOf } from "../../io/table.ts";
import type { World } from "../../io/world.ts";
import type { ShownImage } from "../../lock/fleet-index.ts";
import { readLockIfPresent } from "../../lock/store/lock-file.ts";
import { refuseOtherVersion, updateLock } from "../../lock/store/update-lock.ts";
import { withImages } from "../engines/built-cell.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { formatImageReference } from "../../oci/reference.ts";
import type { SignedImages } from "../../oci/trust-flags.ts";
import type { Lock, LockedChannel } from "../../lock/lock.ts";
import type { PublishedIndex } from "./publish-index.ts";
import {
  type PlanIndex,
  type PlanIndexOptions,
  publishPlanIndex,
  sameArguments,
} from "./publish-plan-index.ts";
import type { FleetSigner } from "./seal.ts";

export interface SignaturesEvent extends SignedImages {
  readonly schemaVersion: 1;
  readonly type: "signatures";
}

export interface IndexEvent extends PublishedIndex {
  readonly schemaVersion: 1;
  readonly type: "index";
  /** Has the digest. */
  readonly reference: string;
  /** Cells that the index lacks, because the registry lacks their images. */
  readonly missing: readonly string[];
}

export interface ChannelEvent extends LockedChannel {
  readonly schemaVersion: 1;
  readonly type: "channel";
  readonly channel: string;
  /** Has the digest. */
  readonly reference: string;
  readonly how: "created" | "moved" | "unchanged";
  /** How many images it names. */
  readonly images: number;
  /** Cells that it had before and has no more. */
  readonly dropped: readonly string[];
  /** The losses of hosts by the move, which `allowLoss` allowed. */
  readonly losses: readonly string[];
}

/** `publish`: from here on what is announced must be taken back, and an interruption waits for that. */
export type PublicationEvent = { readonly type: "publish" } | SignaturesEvent | IndexEvent;

export type PromotionEvent = PublicationEvent | ChannelEvent;

export interface Publication {
  /** null if nothing was signed. */
  readonly signatures: SignaturesEvent | null;
  /** null if none was written. */
  readonly index: IndexEvent | null;
  /** One for each variant of the matrix. */
  readonly variants: readonly IndexEvent[];
}

export const unpublished: Publication = { signatures: null, index: null, variants: [] };

/**
 * Writes the indexes of a plan. The lock gets the version, and the names of the variants, so that `verify` looks for them. Throws `LOCK_BUSY` if
 * another run has moved the lock to another version, and writes no index then.
 */
export async function publishPlan(
  plan: Plan,
  lockFile: string,
  options: PlanIndexOptions,
  signing: FleetSigner | null,
  world: Pick<World<PublicationEvent>, "onEvent">,
): Promise<Publication> {
  const { matrix, versions } = plan;
  const { version, repository } = matrix;
  refuseOtherVersion(await readLockIfPresent(lockFile), versions, lockFile);
  const written = await publishPlanIndex(plan, { ...options, vouching: signing ?? undefined });
  const names = (written.variants ?? []).flatMap(({ reference }) => reference.tag ?? []);
  const lock = await readLockIfPresent(lockFile);
  const known = lock?.version === version ? (lock.variants ?? []) : [];
  if (lock !== null && (lock.version !== version || names.some((name) => !known.includes(name)))) {
    const variants = [...new Set([...known, ...names])].sort();
    const moved = (now: Lock) => ({
      ...withImages(now, matrix, {}),
      ...(variants.length > 0 && { variants }),
    });
    await updateLock(lockFile, (now) => moved(now ?? lock), { repository, versions });
  }
  return tellPublication(written, signing, world);
}

/** Reports signatures and indexes as events. An index that lacks cells is a problem, `INDEX_INCOMPLETE`. */
export function tellPublication(
  written: PlanIndex | null,
  signing: FleetSigner | null,
  { onEvent }: Pick<World<PublicationEvent>, "onEvent">,
): Publication {
  const done = signing?.done() ?? { signed: [], kept: [], forms: [] };
  const signatures: SignaturesEvent | null =
    done.signed.length + done.kept.length === 0 ? null : { schemaVersion: 1, type: "signatures", ...done };
  if (signatures !== null) onEvent(signatures);
  if (written === null) return { signatures, index: null, variants: [] };
  const [index, ...variants] = [written, ...(written.variants ?? [])].map(
    ({ reference, published, missing }): IndexEvent => {
      const named = `${formatImageReference(reference)}@${published.digest}`;
      return { schemaVersion: 1, type: "index", reference: named, ...published, missing };
    },
  );
  for (const event of [index, ...variants]) if (event !== undefined) onEvent(event);
  for (const problem of written.published.plain.flatMap(withheldProblem))
    onEvent({ type: "problem", problem });
  if (written.missing.length > 0) onEvent({ type: "problem", problem: incomplete(written) });
  return { signatures, index: index ?? null, variants };
}

/** `BASELINE_MISSING` for a platform whose images are hidden from runtimes, because none starts on every machine. */
function withheldProblem({ platform, withheld }: ShownImage): readonly Problem[] {
  if (withheld === undefined) return [];
  const [, architecture = ""] = platform.split("/");
  return [
    {
      code: "BASELINE_MISSING",
      message: `no image starts on every machine of ${platform}, so a plain pull of the version finds none: the least demanding one is ${withheld}, and older CPUs would die of it`,
      fix: `add a row without GPU code and with march ${levelNeeded(architecture, [])} to the matrix; or, if all of your machines start ${withheld}, plainPull: least`,
    },
  ];
}

function incomplete({ missing, otherArgs }: PlanIndex): Problem {
  return {
    code: "INDEX_INCOMPLETE",
    message: `${count(missing.length, "cell")} not in the index, because the registry does not have their images: ${firstOf(missing, 5)}`,
    fix: `run imgmatch build --push, or choose cells with --only${sameArguments(otherArgs)}`,
  };
}
