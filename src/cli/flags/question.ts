/** The question to the resolver that several commands ask. */

import { type ImgmatchError, usageError } from "../../errors.ts";
import type { HostFacts } from "../../host/facts.ts";
import { type Lock, lockPath } from "../../lock/lock.ts";
import { readLock } from "../../lock/lock-file.ts";
import type { FetchedFleet, SignedBy } from "../../lock/index-trust.ts";
import { unpushedEngines } from "../../lock/unpushed.ts";
import { compilePins, parsePins } from "../../resolve/pins.ts";
import type { ResolveOptions } from "../../resolve/resolve.ts";
import { problemLines } from "../report/answer.ts";
import type { CommandContext } from "../command-context.ts";
import { tell } from "../print.ts";
import { type HostFlags, hostFor } from "./host.ts";
import type { RegistryFleetFlags } from "./registry-fleet.ts";
import { refuseTrustWithoutRegistry } from "./trust.ts";

export interface QuestionFlags extends HostFlags, RegistryFleetFlags {
  readonly lock?: string;
  /** The same as `from`, without the flag. */
  readonly reference?: string;
  readonly pin?: readonly string[];
  readonly cpu?: boolean;
  readonly requireGpu?: boolean;
  /** Images that were built here and not pushed are as good as those that were. */
  readonly local?: boolean;
  /** The explanation names the host's problems itself. */
  readonly explain?: boolean;
}

export interface FleetQuestion {
  readonly lock: Lock;
  /** Who vouches for the fleet; null where no signature was asked for. */
  readonly signed: SignedBy | null;
  readonly options: ResolveOptions;
}

/** Lock, host and options of a question to the resolver. The fleet of a reference counts as a lock. */
export async function readQuestion(
  flags: QuestionFlags,
  context: CommandContext,
): Promise<FleetQuestion & { host: HostFacts }> {
  const question = await readFleetQuestion(flags, context);
  const host = await hostFor(flags, context);
  if (!flags.explain) tell(problemLines(host), context);
  return { ...question, host };
}

/** The part of a question that is about no host. */
export async function readFleetQuestion(
  flags: QuestionFlags,
  context: CommandContext,
): Promise<FleetQuestion> {
  requireLock(flags);
  const { lock, signed } = await readFleet(flags, context);
  const pins = await compilePins(parsePins(flags.pin ?? []));
  const local = flags.local ? { local: await heldHere(lock, context) } : {};
  return {
    lock,
    signed,
    options: { pins, cpuOnly: flags.cpu ?? false, requireGpu: flags.requireGpu ?? false, ...local },
  };
}

/** What a registry's index names has been pushed. */
function requireLock({ local = false, from, reference = from }: QuestionFlags): void {
  if (!local || reference === undefined) return;
  throw usageError(
    `--local asks the engine of this machine, and the fleet of ${reference} is in a registry`,
    "leave --local out",
  );
}

/** Throws `ENGINE_…` for an engine that is to have them and cannot be asked. */
async function heldHere(lock: Lock, { env }: CommandContext): Promise<ReadonlySet<string>> {
  const { heldImages } = await import("../../fleet/build/engines/held-images.ts");
  const held = await Promise.all([...unpushedEngines(lock)].map((engine) => heldImages(engine, env)));
  return new Set(held.flatMap((ids) => [...ids]));
}

async function readFleet(flags: QuestionFlags, context: CommandContext): Promise<FetchedFleet> {
  const { reference, from = reference, lock } = flags;
  if (from === undefined) {
    refuseTrustWithoutRegistry(flags);
    return { lock: await readLock(lock ?? lockPath), signed: null };
  }
  if (reference !== undefined && reference !== from)
    throw twoFleets(`${reference} or, by --from, ${from}, not both`);
  if (lock !== undefined) throw twoFleets(`read from ${from} or from --lock ${lock}, not from both`);
  // A node with a lock should not wait for the registry client to load.
  const { readRegistryFleet } = await import("./registry-fleet.ts");
  return readRegistryFleet(from, flags, context);
}

function twoFleets(which: string): ImgmatchError {
  return usageError(`the fleet is ${which}`, "leave one of them out");
}
