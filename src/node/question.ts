/** Reads the question that several commands ask the resolver: lock, host and options. */

import { type ImgmatchError, usageError } from "../errors.ts";
import type { HostFacts } from "../facts/facts.ts";
import { type LocalEngine, lockPath, type Lock } from "../lock/lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import type { FetchedFleet, SignedBy } from "../lock/store/index-trust.ts";
import { unpushedEngines } from "../lock/adopted-lock.ts";
import { leftOutLines, problemLines } from "../resolve/answer-lines.ts";
import { needsOf, noteUnlisted } from "./unlisted.ts";
import { noMatch } from "../resolve/nearest.ts";
import { compilePins, parsePins } from "../resolve/pins.ts";
import type { Ranking, ResolveImageOptions } from "../resolve/resolve-image.ts";
import type { Match, Resolution } from "../resolve/verdict.ts";
import { type Environment, note, type World } from "../io/world.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import { type DriverQuestion, type HostChoice, readHostOf } from "../host/probe.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { refuseTrustWithoutRegistry } from "../trust/asks-trust.ts";
import type { RootSource, TrustDemands } from "../oci/trust-flags.ts";

/** A fleet in a registry, in place of a lock. */
export interface RegistryFleetChoice extends RegistryAccess, TrustDemands {
  /** `registry/repo:version`. */
  readonly from?: string;
}

export interface QuestionOptions extends HostChoice, RegistryFleetChoice {
  readonly lock?: string;
  /** The argument form of `from`. */
  readonly reference?: string;
  readonly pin?: readonly string[];
  readonly cpu?: boolean;
  readonly requireGpu?: boolean;
  /** Images that were built here and not pushed count too. */
  readonly local?: boolean;
  /** The explanation names the host's problems itself. */
  readonly explain?: boolean;
}

export interface AgeChoice {
  /** False: no image whose day of deprecation has come. */
  readonly deprecated?: boolean;
}

/** The options that are about no host. */
type FleetQuestionOptions = Omit<QuestionOptions, keyof HostChoice> & AgeChoice;

export interface FleetQuestion {
  readonly lock: Lock;
  /** The fleet's signers; null if no signature is required. */
  readonly signed: SignedBy | null;
  readonly options: ResolveImageOptions;
}

export interface Question extends FleetQuestion {
  readonly host: HostFacts;
}

/** The ports of who asks about a fleet: what is in a registry, and what an engine of this machine holds. */
export interface QuestionPorts extends RootSource {
  readonly readRegistryFleet: (
    reference: string,
    access: RegistryAccess,
    demands: TrustDemands,
    world: World & RootSource,
  ) => Promise<FetchedFleet>;
  /** The ids of all images, `sha256:…`. Throws `ENGINE_…` where the engine cannot be asked. */
  readonly heldImages: (engine: LocalEngine, env: Environment) => Promise<ReadonlySet<string>>;
}

export interface NodePorts extends QuestionPorts, ClusterReader {}

export type NodeWorld<Event = never> = HostWorld<Event> & NodePorts;

/** Reads a question. With `--from`, the registry's index is its lock. */
export async function readQuestion(
  flags: QuestionOptions & DriverQuestion & AgeChoice,
  world: NodeWorld,
  readHost = readHostOf,
): Promise<Question> {
  const question = await readFleetQuestion(flags, world);
  const host = await readHost(flags, world);
  if (!flags.explain) note(world, problemLines(host));
  await noteUnlisted(world, [host], needsOf(question.lock));
  return { ...question, host };
}

/** The match of a resolution. Throws `NO_MATCH` with the nearest images, or `HOST_BROKEN`. */
export function requireMatch(
  { match }: Resolution,
  ranking: Ranking,
  { lock, options }: Question,
  explanation: Pick<QuestionOptions, "explain"> = {},
): Match {
  if (match === null) throw noMatch(lock, ranking, options, explanation);
  return match;
}

/** Reads the part of a question that is about no host. */
export async function readFleetQuestion(
  flags: FleetQuestionOptions,
  world: World & QuestionPorts,
): Promise<FleetQuestion> {
  const { lock, signed } = await readFleet(flags, world);
  const options = await choiceOf(flags);
  note(world, leftOutLines(lock, options.pins));
  const local = flags.local ? await heldBy([...unpushedEngines(lock)], world) : {};
  return { lock, signed, options: { ...options, ...local } };
}

/** The options that select images. */
export async function choiceOf({
  pin = [],
  cpu = false,
  requireGpu = false,
  deprecated = true,
}: FleetQuestionOptions) {
  // The first date of a process reads the machine's time zone.
  const today = () => new Date().toISOString().slice(0, "2026-12-31".length);
  const day = deprecated ? {} : { notDeprecatedOn: today() };
  return { pins: await compilePins(parsePins(pin)), cpuOnly: cpu, requireGpu, ...day };
}

/** The ids of the images in these engines: an unpushed image among them counts as built. Throws `ENGINE_…` if an engine does not answer. */
export async function heldBy(
  engines: readonly LocalEngine[],
  { env, heldImages }: World & QuestionPorts,
): Promise<Pick<ResolveImageOptions, "local">> {
  const held = await Promise.all(engines.map((engine) => heldImages(engine, env)));
  return { local: new Set(held.flatMap((ids) => [...ids])) };
}

async function readFleet(
  flags: FleetQuestionOptions,
  world: World & QuestionPorts,
): Promise<Pick<FleetQuestion, "lock" | "signed">> {
  const { reference, from = reference, lock } = flags;
  if (from === undefined) {
    refuseTrustWithoutRegistry(flags);
    return { lock: await readLock(lock ?? lockPath), signed: null };
  }
  if (reference !== undefined && reference !== from)
    throw twoFleets(`${reference} or, by --from, ${from}, not both`);
  if (lock !== undefined) throw twoFleets(`read from ${from} or from --lock ${lock}, not from both`);
  if (flags.local)
    throw usageError(
      `--local asks the engine of this machine, and the fleet of ${from} is in a registry`,
      "leave --local out",
    );
  return world.readRegistryFleet(from, flags, flags, world);
}

function twoFleets(which: string): ImgmatchError {
  return usageError(`the fleet is ${which}`, "leave one of them out");
}
