/** The options of every command about a matrix, and the fleet, lock and lookups that they choose. */

import { dirname, join } from "node:path";
import { type Problem, usageError } from "../../errors.ts";
import type { HostServices } from "../host-services.ts";
import { type Fleet, openFleet } from "./open-fleet.ts";
import type { FindBaseDigest, ReadBase } from "./find-bases.ts";
import { parseBuildArguments } from "../matrix/given-arguments.ts";
import { lockPath } from "../../lock/lock.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { parseSelections, type Selection } from "../cells/select.ts";
import type { World } from "../../io/world.ts";
import { trustOf } from "../../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../../oci/registry/registry-flags.ts";

export interface FleetChoice extends RegistryAccess {
  /** Default: `matrix.yaml`. */
  readonly matrix?: string;
  /** Default: `images/imgmatch.lock.json` beside the matrix. */
  readonly lock?: string;
  readonly registry?: string;
  readonly only?: readonly string[];
  /** `NAME=VALUE` or `NAME`. */
  readonly buildArg?: readonly string[];
  /** The word of `--no-cache`; false for `--no-cache` without one. */
  readonly cache?: string | false;
  readonly replaceBase?: readonly string[];
  readonly offline?: boolean;
}

/** The flags that name a fleet, a lock, and some of the cells. */
export type FleetPlace = Pick<FleetChoice, "matrix" | "lock" | "registry" | "only" | "buildArg">;

export type BaseChoice = Omit<FleetChoice, keyof FleetPlace>;

export const matrixPath = "matrix.yaml";

/** The fleet of the flags, the file of its lock, and the selected cells. */
export async function fleetAt(
  place: FleetPlace,
  { env, writeGuard, marchHere }: Pick<World, "env"> & HostServices,
): Promise<{ readonly fleet: Fleet; readonly lockFile: string; readonly only: readonly Selection[] }> {
  const { matrix = matrixPath, registry, only = [], buildArg = [] } = place;
  const args = parseBuildArguments(buildArg, env);
  const fleet = await openFleet(matrix, { registry, env, args, writeGuard, marchHere });
  const names = fleet.matrix.axes.map(({ name }) => name);
  return { fleet, lockFile: lockFileOf(place), only: parseSelections(only, names) };
}

/** The lock beside the matrix, unless `--lock` names another. */
export function lockFileOf({ matrix = matrixPath, lock }: Pick<FleetChoice, "matrix" | "lock">): string {
  return lock ?? join(dirname(matrix), lockPath);
}

/** The matrix that a lock stands beside; for a lock in another place the matrix of the current folder, as in `build --lock`. */
export function matrixFileOf(lock: string): string {
  return lock.endsWith(lockPath) ? `${lock.slice(0, -lockPath.length)}${matrixPath}` : matrixPath;
}

export function parseReplacements(texts: readonly string[] = []): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text): [string, string] => {
      const at = text.indexOf("=");
      if (at < 1) {
        throw usageError(
          `--replace-base ${text} is not OLD=NEW`,
          "write --replace-base debian:bookworm-slim=registry.example.com/debian:bookworm-slim",
        );
      }
      const replacement = text.slice(at + 1);
      parseImageReference(replacement);
      return [text.slice(0, at), replacement];
    }),
  );
}

/** Functions that ask registries for digests and configurations of bases. They answer null for a failure, which `onProblem` gets. */
export async function baseLookup(
  { offline = false, ...access }: Pick<BaseChoice, keyof RegistryAccess | "offline">,
  { env, signal }: Pick<World, "env" | "signal">,
  onProblem: (problem: Problem, ref: string) => void,
): Promise<{ readonly findBaseDigest: FindBaseDigest; readonly readBase: ReadBase }> {
  const unknown = async () => null;
  if (offline) return { findBaseDigest: unknown, readBase: unknown };
  const { createBaseLookup, createBaseReader } = await import("../../oci/registry/base-lookup.ts");
  const options = { ...(await trustOf(access)), signal };
  return {
    findBaseDigest: createBaseLookup(env, onProblem, options),
    readBase: createBaseReader(env, options),
  };
}
