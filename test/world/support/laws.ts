/** What holds in every world, whatever the faults were. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../../src/io/attempt.ts";
import { remember } from "../../../src/io/collections.ts";
import type { IndexLock, Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { lockOfIndex, parseFleetIndex } from "../../../src/lock/store/read-fleet-index.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { withTag } from "../../../src/oci/reference.ts";
import { referrersTag, signatureTag } from "../../../src/oci/registry/attachment-tags.ts";
import { repository } from "./fleet.ts";
import { type Desk, lockFileOf } from "./publisher.ts";
import type { WorldRegistry } from "./registry.ts";
import type { Simulation } from "./simulation.ts";

/** A publisher has ended well: from then on the index of the version has the row. */
interface Row {
  readonly version: string;
  readonly cell: string;
  readonly digest: Digest;
  readonly since: number;
}

interface Move {
  readonly channel: string;
  readonly from: Digest | null;
  readonly digest: Digest;
  readonly ended: number;
}

export type Laws = ReturnType<typeof createLaws>;

export function createLaws(simulation: Simulation, { store, history }: WorldRegistry) {
  const broken: string[] = [];
  const rows: Row[] = [];
  const moves: Move[] = [];
  /** Rows that a publisher was told to replace. */
  const replaced = new Set<string>();
  const fleets = new Map<string, IndexLock>();
  const keyOf = (tag: string) => `${repository.repository}:${tag}`;
  const held = (tag: string): Digest | null => store.tags.get(keyOf(tag)) ?? null;
  const contentsOf = (tag: string) => history.get(keyOf(tag)) ?? [];

  function violate(law: string): void {
    broken.push(law);
    simulation.note(`BROKEN ${law}`);
  }

  /** The fleet that a content of a tag stands for; null for none. */
  function fleetOf(tag: string, digest = held(tag)): IndexLock | null {
    const stored = digest === null ? undefined : store.manifests.get(digest);
    if (digest === null || stored === undefined) return null;
    return remember(fleets, `${tag} ${digest}`, () => {
      const top = { ...stored, digest, size: stored.bytes.length };
      const reference = withTag(repository, tag);
      return lockOfIndex(parseFleetIndex({ top, parts: [] }, reference), reference, digest);
    });
  }

  /** The nodes verify signatures; here it counts that there is one. */
  const isSigned = (digest: Digest): boolean =>
    [signatureTag(digest), referrersTag(digest)].some((tag) => held(tag) !== null) ||
    [...store.manifests.values()].some(({ bytes }) => bytes.includes('"subject":') && bytes.includes(digest));

  const lockOf = (desk: Desk): Lock | null => {
    const text = attempt(() => readFileSync(lockFileOf(desk), "utf8"), null);
    return text === null ? null : parseLock(text, "the lock");
  };

  return {
    broken,
    violate,
    fleetOf,
    toldToReplace: (version: string, cell: string) => void replaced.add(`${version} ${cell}`),

    /** The tag has left a content: of two publishers that raced for it one was told so, or one was told to replace it. */
    hasGoneBack: (tag: string): boolean =>
      contentsOf(tag).some(({ digest }) =>
        Object.entries(fleetOf(tag, digest)?.images ?? {}).some(
          ([cell, image]) => fleetOf(tag)?.images[cell]?.digest !== image.digest,
        ),
      ),

    /** Tag, lock and index agree when a publisher has ended well: the loser of a race has the winner's image. */
    published(desk: Desk, cells: readonly string[], who: string): void {
      const { version } = desk.release;
      const [lock, index] = [lockOf(desk), fleetOf(version)];
      for (const cell of cells.filter((each) => !replaced.has(`${version} ${each}`))) {
        const image = lock?.images[cell];
        const said = image && [image.digest, held(image.tag), index?.images[cell]?.digest];
        const [digest = null] = said ?? [];
        if (digest === null || said?.some((each) => each !== digest))
          violate(`${who}: lock, tag and index say ${said?.join(", ")} of ${cell}`);
        else rows.push({ version, cell, digest, since: simulation.now });
      }
      if (index !== null && !isSigned(index.indexDigest)) violate(`${who}: the index is not signed`);
    },

    moved(desk: Desk, move: Omit<Move, "ended">, who: string): void {
      const recorded = lockOf(desk)?.channels?.[move.channel]?.digest;
      if (recorded !== move.digest) violate(`${who}: moved to ${move.digest}, and the lock has ${recorded}`);
      moves.push({ ...move, ended: simulation.now });
    },

    /** No node starts an image outside of a signed index of its own tag. */
    started(node: string, tag: string, digest: string): void {
      const names = (index: Digest | null) =>
        index !== null &&
        isSigned(index) &&
        Object.values(fleetOf(tag, index)?.images ?? {}).some((image) => image.digest === digest);
      if (tag === "stolen" || !contentsOf(tag).some((each) => names(each.digest)))
        violate(`${node} starts ${digest}, which no signed index of ${tag} names`);
    },

    ended(folder: string, isWhole: boolean): void {
      // An index loses no row.
      for (const { version, cell, digest, since } of rows.filter(
        (row) => !replaced.has(`${row.version} ${row.cell}`),
      ))
        for (const content of contentsOf(version).filter(({ at }) => at > since)) {
          const row = fleetOf(version, content.digest)?.images[cell]?.digest;
          if (row !== digest)
            violate(`${version} said ${digest} of ${cell}, and ${row} at ${content.at.toFixed(1)}`);
        }
      // The history of a channel has one order.
      const last = new Map<string, Move>();
      for (const move of moves.sort((one, other) => one.ended - other.ended)) {
        const { channel, digest, from, ended } = move;
        const before = last.get(channel);
        const since = contentsOf(channel).filter(({ at }) => at > (before?.ended ?? -1) && at <= ended);
        // Two that move it to the same content have moved it once. A move that was refused or killed may have been there.
        const known = [before?.digest ?? null, ...since.map((each) => each.digest)];
        if (digest !== before?.digest && !known.includes(from))
          violate(`${channel} came from ${from}, and held ${known.join(", ")}`);
        last.set(channel, move);
      }
      if (!isWhole) return;
      // Nothing is left in a checkout, and where no request failed, nothing in the registry.
      const names = readdirSync(folder, { recursive: true, withFileTypes: true });
      const files = names.filter(
        (each) => each.isFile() && each.parentPath.startsWith(join(folder, "checkout")),
      );
      for (const { name, parentPath } of files)
        if (name !== "imgmatch.lock.json") violate(`${name} is left in ${parentPath.slice(folder.length)}`);
    },
  };
}
