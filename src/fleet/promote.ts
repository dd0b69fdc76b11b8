/** Writes the images of one version under another, so that 1.1.0 is what was tried as 1.1.0-rc1; or moves channels. */

import type { Judging, Sealing } from "./publish/seal.ts";
import { dirname } from "node:path";
import { usageError } from "../errors.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import { type ManyHosts, readManyHosts } from "../host/read-host-files.ts";
import { requireDrivers } from "../host/complete-hosts.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { fetchFleet, fetchLock } from "../lock/store/fetch-lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { formatRepository, type ImageReference, parseImageReference, withTag } from "../oci/reference.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { thenTellStaying } from "./publish/announcement.ts";
import { registryFor, registryToWrite } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { requirePlace } from "../lock/store/index-place.ts";
import type { SignatureDemands } from "../oci/trust-flags.ts";
import { versionTag } from "./cells/tag.ts";
import { fitOptions } from "../resolve/resolve-options.ts";
import { parseMatrix } from "./matrix/parse-matrix.ts";
import { withVersion } from "./open/find-version.ts";
import { lockFileOf, matrixPath } from "./open/fleet-choice.ts";
import {
  type ChannelEvent,
  type Publication,
  type PromotionEvent,
  tellPublication,
} from "./publish/publication.ts";
import { type ChannelChoice, type ChannelFleet, promoteChannels } from "./publish/promote-channels.ts";
import { promoteIndex } from "./publish/publish-plan-index.ts";
import type { SignerChoice } from "../oci/trust-flags.ts";

export interface PromoteOptions
  extends RegistryAccess,
    SignatureDemands,
    SignerChoice,
    Partial<ChannelChoice>,
    ManyHosts,
    Watching<PromotionEvent> {
  /** The version that was tried: of the lock's repository, or a reference. With `channel` the default is what the lock has. */
  readonly from?: string;
  /** The version that it becomes. Not with `channel`. */
  readonly to?: string;
  /** The lock, where a version alone is named. Default: `images/imgmatch.lock.json`, with `channel` beside the matrix. */
  readonly lock?: string;
  /** Let the index of `to`, or a channel's tag, say something else than it does now. */
  readonly replaceIndex?: boolean;
}

export interface Promotion extends Publication {
  /** The channels that were moved, or held the images already. */
  readonly channels: readonly ChannelEvent[];
}

/** What it is handed: a cluster's hosts, what signs, and what reads signatures. */
export type PromotePorts = ClusterReader & Pick<Sealing, "openSigner"> & Pick<Judging, "signatureTrustFor">;

/**
 * Writes the images of one version under another, or moves channels of the matrix to images of the lock or of a version. It builds nothing, and
 * every digest stays.
 *
 * Throws `USAGE`, `LOCK_…`, `INDEX_NOT_FOUND`, `INDEX_CONFLICT` if `to` has another image or another cell, `SIGNATURE_…`, `REGISTRY_…`;
 * for channels `CHANNEL_LOSS`, `INDEX_INCOMPLETE`, and `TAG_CONFLICT` if one holds an image that the lock does not record.
 *
 * @example
 * const { index } = await promote({ from: "1.1.0-rc1", to: "1.1.0" });
 * const { channels } = await promote({ channel: ["latest"], hosts: ["hosts"] });
 */
export type PromoteFunction = (
  options: PromoteOptions,
  world?: Partial<World<PromotionEvent>>,
) => Promise<Promotion>;

export function promoteWith(ports: PromotePorts): PromoteFunction {
  return (options, given) => inWorld(options, given, (world) => promoteIn(options, world), ports);
}

async function promoteIn(
  options: PromoteOptions,
  world: World<PromotionEvent> & PromotePorts,
): Promise<Promotion> {
  const hosts = await readHosts(options, world);
  const choice = choiceOf(options);
  const signFleet = await world.openSigner(options, world);
  const fetching = {
    connect: () => registryFor(options, world),
    tell: (line: string) => note(world, [line]),
  };
  /** Throws if our signer must not sign this version. */
  const read = async (from: ImageReference, registry: FullRegistryClient) => {
    const trust = await world.signatureTrustFor(options, world);
    const { lock: fleet, ...place } = await fetchFleet(from, { ...fetching, trust });
    const signing = signFleet && (await signFleet(fleet.repository, registry));
    // An index of ours that somebody copied here, from another repository or tag, must not be signed as this version.
    if (signing !== null) requirePlace(from, place);
    await signing?.requireVouched(fleet.indexDigest);
    return { fleet, signing };
  };
  if (choice.kind === "channels") {
    const { channels } = choice;
    const own = await readChannelFleet(channels, world);
    const { repository } = own.lock;
    const registry = await registryToWrite([repository], options, world);
    const from = options.from === undefined ? null : referenceOf(options.from, own.lock);
    if (from !== null && formatRepository(from) !== repository)
      throw usageError(`${options.from} is not of ${repository}`, "a channel names images of its repository");
    const version = from === null ? null : await read(from, registry);
    requireDrivers(hosts, fitOptions(version?.fleet ?? own.lock, {}).gpuImages);
    const signing = version?.signing ?? (signFleet && (await signFleet(repository, registry)));
    const fetch = (reference: ImageReference) => fetchLock(reference, fetching);
    world.onEvent({ type: "publish" });
    const means = { registry, fetch, signing, hosts };
    const moving = () => promoteChannels(own, version?.fleet ?? null, channels, means, world);
    const moved = await thenTellStaying(registry, world, moving);
    return { ...tellPublication(null, signing, world), channels: moved };
  }
  const { to } = choice;
  const lock = choice.from.includes("/") ? null : await readLock(options.lock ?? lockPath);
  const from = referenceOf(choice.from, lock);
  const registry = await registryToWrite([formatRepository(from)], options, world);
  const { fleet, signing } = await read(from, registry);
  world.onEvent({ type: "publish" });
  const { replaceIndex: replace = false } = options;
  const { signal } = world;
  const vouching = signing ?? undefined;
  const publishing = () => promoteIndex(fleet, to, { registry, replace, vouching, signal });
  const written = await thenTellStaying(registry, world, publishing);
  const [named] = Object.values(fleet.images).filter(({ tag }) => tag.includes(fleet.version));
  if (named !== undefined)
    note(world, [`the images keep the tags that they have, as ${named.tag}: the digest is what ${to} names`]);
  return { ...tellPublication(written, signing, world), channels: [] };
}

type PromotionChoice =
  | { readonly kind: "version"; readonly from: string; readonly to: string }
  | { readonly kind: "channels"; readonly channels: ChannelChoice };

function choiceOf({ from, to, channel = [], ...more }: PromoteOptions): PromotionChoice {
  if (channel.length > 0) {
    if (to === undefined) return { kind: "channels", channels: { ...more, channel } };
    throw usageError(`${to} is a version, and --channel moves channels`, "name one of them");
  }
  if (from === undefined || to === undefined)
    throw usageError(
      "promote needs two versions or --channel",
      "write imgmatch promote 1.1.0-rc1 1.1.0, or --channel latest",
    );
  if (to.includes("/") || to.includes("@"))
    throw usageError(`${to} is no version`, "name the new version alone: it stays in its repository");
  return { kind: "version", from, to };
}

/** The hosts that must not lose by the move of a channel. */
async function readHosts(
  options: PromoteOptions,
  world: Pick<HostWorld, "readStdin" | "readClusterNodes">,
): Promise<readonly NamedHost[]> {
  const { hosts = [], catalog = [], hostType = [], driver = [], channel = [] } = options;
  if (hosts.length + catalog.length + hostType.length + driver.length === 0) return [];
  if (channel.length === 0)
    throw usageError("hosts count only for channels", "add --channel, or leave the hosts out");
  return readManyHosts(options, world);
}

/** `from` is a reference, or a version of the lock's repository. */
function referenceOf(from: string, lock: Pick<Lock, "repository"> | null): ImageReference {
  if (from.includes("/") || lock === null) return parseImageReference(from);
  return withTag(parseImageReference(lock.repository), versionTag({ version: from }));
}

async function readChannelFleet(choice: ChannelChoice, { env }: Pick<World, "env">): Promise<ChannelFleet> {
  const { matrix: file = matrixPath } = choice;
  const text = await readTextFile(file, inputLimits.matrix, { missingCode: "MATRIX_NOT_FOUND" });
  const matrix = await withVersion(parseMatrix(text, file, env), { root: dirname(file), env });
  const lockFile = lockFileOf(choice);
  return { matrix, lock: await readLock(lockFile), lockFile };
}
