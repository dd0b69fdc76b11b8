/** Moves channels of a matrix to images of the lock, or of a version that was published. */

import { dirname } from "node:path";
import { type Problem, throwProblems, usageError } from "../../errors.ts";
import type { NamedHost } from "../../facts/named-host.ts";
import { channelLosses } from "./channel-losses.ts";
import { askGit } from "../../io/git.ts";
import { matchesGlob } from "../../io/glob.ts";
import { count, firstOf } from "../../io/table.ts";
import type { World } from "../../io/world.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { formatOf } from "../../lock/store/read-fleet-index.ts";
import { updateLock } from "../../lock/store/update-lock.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withDigest,
  withTag,
} from "../../oci/reference.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import { expandMatrix } from "../cells/expand.ts";
import { channelGroups } from "../cells/groups.ts";
import type { Named } from "../cells/tag.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { ChannelEvent } from "./publication.ts";
import { moveChannel } from "./move-channel.ts";
import type { FleetSigner } from "./seal.ts";

export interface ChannelChoice {
  /** The matrix that has the channels. Default: `matrix.yaml`. */
  readonly matrix?: string;
  /** Default: `images/imgmatch.lock.json` beside the matrix. */
  readonly lock?: string;
  /** Names of channels, `*` for any characters. */
  readonly channel: readonly string[];
  /** Move a channel though hosts lose by it. */
  readonly allowLoss?: boolean;
  /** Move a tag that holds what the lock does not record. */
  readonly replaceIndex?: boolean;
}

export interface ChannelMeans {
  readonly registry: FullRegistryClient;
  /** The fleet that the registry has there. */
  readonly fetch: (reference: ImageReference) => Promise<Lock>;
  readonly signing: FleetSigner | null;
  /** The hosts that must not lose by a move. */
  readonly hosts: readonly NamedHost[];
}

interface Move {
  readonly name: string;
  /** Has the images of the channel alone. */
  readonly fleet: Lock;
  /** Cells that it has now, and not after the move. */
  readonly dropped: readonly string[];
  readonly losses: readonly string[];
}

export interface ChannelFleet {
  readonly matrix: Matrix;
  readonly lock: Lock;
  readonly lockFile: string;
}

/**
 * Moves the chosen channels one by one, and writes each into the lock. Throws `CHANNEL_LOSS` or `INDEX_INCOMPLETE` before the first move.
 * `version`: null for the lock's own images.
 */
export async function promoteChannels(
  own: ChannelFleet,
  version: Lock | null,
  choice: ChannelChoice,
  means: ChannelMeans,
  world: World<ChannelEvent>,
): Promise<readonly ChannelEvent[]> {
  const { lock, lockFile } = own;
  const moves: Move[] = [];
  for (const { name, fleet } of chosenChannels(own, version, choice)) {
    const before = await servedBy(name, lock, means);
    const dropped = Object.keys(before?.images ?? {}).filter((cell) => fleet.images[cell] === undefined);
    const losses = before === null ? [] : channelLosses(before, fleet, means.hosts);
    moves.push({ name, fleet, dropped, losses });
  }
  if (!choice.allowLoss) throwProblems(moves.flatMap(lossOf));
  const { registry, signing } = means;
  const who = { movedBy: await whoMoves(dirname(lockFile), world), at: new Date().toISOString() };
  const { replaceIndex: replace = false } = choice;
  const events: ChannelEvent[] = [];
  for (const { name, fleet, dropped, losses } of moves) {
    const known = lock.channels?.[name] ?? null;
    const options = { registry, replace, vouching: signing ?? undefined, signal: world.signal };
    const { reference, how, record } = await moveChannel({ name, fleet, known, ...who }, options);
    // The lock is read anew: another may have moved another channel meanwhile.
    const moved = (now: Lock) => ({ ...now, channels: { ...now.channels, [name]: record } });
    await updateLock(lockFile, (now) => moved(now ?? lock), { repository: lock.repository });
    const images = Object.keys(fleet.images).length;
    const named = `${formatImageReference(reference)}@${record.digest}`;
    const event = {
      schemaVersion: 1,
      type: "channel",
      channel: name,
      reference: named,
      how,
      images,
      ...record,
      dropped,
      losses,
    } as const;
    world.onEvent(event);
    events.push(event);
  }
  return events;
}

/** Throws `INDEX_INCOMPLETE` for cells of a channel that are not published. */
function chosenChannels(
  { matrix, lock }: ChannelFleet,
  version: Lock | null,
  { channel }: ChannelChoice,
): readonly Pick<Move, "name" | "fleet">[] {
  const fleet = version ?? lock;
  // The lock also has images that the matrix no longer builds.
  const built = expandMatrix(matrix).flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  const published = Object.entries(version?.images ?? {}).map(([id, image]) => ({ ...image, id }));
  const groups = channelGroups<Named>(matrix, version === null ? built : published);
  const unknown = channel.find((each) => !groups.some(({ name }) => matchesGlob(each, name)));
  if (unknown !== undefined) {
    const names = groups.map(({ name }) => name).join(", ");
    throw usageError(
      `${fleet.name} ${fleet.version} has no channel ${unknown}`,
      names === "" ? "write channels: into the matrix" : `its channels are ${names}`,
    );
  }
  const problems: Problem[] = [];
  const chosen = groups.filter(({ name }) => channel.some((each) => matchesGlob(each, name)));
  const moves = chosen.map(({ name, members }) => {
    const images: Record<string, LockedImage> = {};
    const missing: string[] = [];
    for (const { id } of members) {
      const image = fleet.images[id];
      if (image === undefined || image.digest === null) missing.push(id);
      else images[id] = image;
    }
    if (missing.length > 0)
      problems.push({
        code: "INDEX_INCOMPLETE",
        message: `channel ${name} selects ${count(missing.length, "cell")} without a published image in the lock: ${firstOf(missing, 5)}`,
        fix: "run imgmatch build --push",
      });
    return { name, fleet: { ...fleet, images } };
  });
  throwProblems(problems);
  return moves;
}

function lossOf({ name, fleet, losses }: Move): readonly Problem[] {
  if (losses.length === 0) return [];
  return [
    {
      code: "CHANNEL_LOSS",
      message: `channel ${name} does not move to ${fleet.version}`,
      details: losses,
      fix: "give these hosts an image in the channel, or move it all the same with --allow-loss",
    },
  ];
}

/** The lock of the channel's present images; null for a new channel and for content that is no index of a fleet. */
async function servedBy(name: string, lock: Lock, { registry, fetch }: ChannelMeans): Promise<Lock | null> {
  const channel = withTag(parseImageReference(lock.repository), name);
  const manifest = await registry.readManifest(channel);
  if (manifest === null || formatOf(manifest) === null) return null;
  return fetch(withDigest(channel, manifest.digest));
}

/** GitHub Actions, "Default environment variables"; GitLab, "Predefined CI/CD variables"; else the name of git or of the system. */
async function whoMoves(folder: string, { env }: Pick<World, "env">): Promise<string> {
  const inCi = env.GITHUB_ACTOR || env.GITLAB_USER_LOGIN;
  if (inCi) return inCi;
  const name = await askGit(folder, ["config", "--get", "user.name"], { timeoutMs: 5_000 });
  return (name.ok && name.text.trim()) || env.USER || "unknown";
}
