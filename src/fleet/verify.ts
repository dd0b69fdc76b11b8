/** Compares a fleet in its registry with the lock: digests, signatures, provenance. */

import type { Judging } from "./publish/seal.ts";
import { ImgmatchError } from "../errors.ts";
import { isThere } from "../io/files.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import { repositoriesOf } from "../lock/image-repository.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import type { ProvenanceVerification } from "../oci/verified-provenance.ts";
import type { SignatureDemands } from "../oci/trust-flags.ts";
import { fleetAt, matrixFileOf } from "./open/fleet-choice.ts";
import type { HostServices } from "./host-services.ts";
import { planFleet } from "./open/plan-fleet.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { type Sweep, type SweepOptions, sweep } from "./publish/sweep.ts";
import { counted, type LookEvent, type Verification, verifyLock } from "./publish/verify-lock.ts";
import { type SignedLock, verifySigned } from "./publish/verify-signed.ts";

export interface VerifyOptions extends RegistryAccess, SignatureDemands, Watching<LookEvent> {
  /** Default: `images/imgmatch.lock.json`. */
  readonly lock?: string;
  /** Give each tag the lock's digest again, where the registry still has that manifest. */
  readonly heal?: boolean;
  /** Remove the transient tags that killed publishers left. */
  readonly sweep?: boolean;
  /** Compare what the lock says with what was attested. */
  readonly provenance?: boolean;
}

export interface VerifyAnswer extends Verification {
  readonly schemaVersion: 1;
  /** Present with `sweep`. */
  readonly swept?: Sweep;
  /** Present with `provenance`. */
  readonly provenance?: ProvenanceVerification;
  /** The signatures, if one is asked for. */
  readonly signed?: SignedLock;
  /** Others built the images. */
  readonly adopted: boolean;
}

/**
 * Asks the registry for every image of a lock, and answers with each difference. Throws `LOCK_…`, `REGISTRY_…`, and
 * `SIGNATURE_…` if no demanded signer has signed; then it heals and removes nothing.
 *
 * @example
 * const { drift, conflicts } = await verify({ provenance: true });
 */
export type VerifyFunction = (
  options?: VerifyOptions,
  world?: Partial<World<LookEvent>>,
) => Promise<VerifyAnswer>;

export function verifyWith(ports: Judging & HostServices): VerifyFunction {
  return (options = {}, given) => inWorld(options, given, (world) => verifyIn(options, world), ports);
}

async function verifyIn(
  asked: VerifyOptions,
  world: World<LookEvent> & Judging & HostServices,
): Promise<VerifyAnswer> {
  const { lock: file = lockPath } = asked;
  const lock = await readLock(file);
  const registry = await registryFor(asked, world);
  // Before any change: an image that no accepted signer has signed is not healed.
  const trust = await world.signatureTrustFor(asked, world);
  const signed = trust === null ? null : await verifySigned(lock, { registry, trust });
  const tags = Object.values(lock.images).map(({ tag }) => tag);
  const keep = new Set([...tags, ...Object.keys(lock.channels ?? {})]);
  // Before the verification, which then reports what is left.
  const swept = asked.sweep ? await sweepAll(lock, { registry, keep }) : null;
  const plan = isAdopted(lock) ? null : await planOf(lock, file, world);
  const verification = await verifyLock(lock, {
    registry,
    plan,
    heal: asked.heal ?? false,
    onLook: world.onEvent,
  });
  const { length: published } = Object.values(lock.images).filter(({ digest }) => digest !== null);
  const onImage = counted("provenance", published, world.onEvent);
  const provenance = asked.provenance
    ? await world.verifyProvenance(lock, registry, asked, world, onImage)
    : null;
  return {
    schemaVersion: 1,
    ...verification,
    ...(swept && { swept }),
    ...(provenance && { provenance }),
    ...(signed && { signed }),
    adopted: isAdopted(lock),
  };
}

/** The fleet's plan; null where no matrix is there, as on a machine that has the lock alone, or the matrix is another fleet's. */
async function planOf(lock: Lock, lockFile: string, world: World & HostServices): Promise<Plan | null> {
  const matrix = matrixFileOf(lockFile);
  if (!isThere(matrix)) return null;
  try {
    const { fleet, only } = await fleetAt({ matrix }, world);
    if (fleet.matrix.name !== lock.name) return null;
    return await planFleet(fleet, { lock, only, published: true, asBuilt: true });
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    note(world, [
      `${matrix} has mistakes, which imgmatch plan names: images of cells that the matrix has no more count as cells`,
    ]);
    return null;
  }
}

async function sweepAll(lock: Lock, options: SweepOptions): Promise<Sweep> {
  const swept: Sweep[] = [];
  for (const repository of repositoriesOf(lock))
    swept.push(await sweep(parseImageReference(repository), options));
  return {
    removed: swept.flatMap(({ removed }) => removed),
    emptied: swept.flatMap(({ emptied }) => emptied),
  };
}
