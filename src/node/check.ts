/** Checks which of some subjects run on a host: images, wheels, libraries, folders. */

import { usageError } from "../errors.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { askOwnStart, whyMuteHere } from "../host/ask-start.ts";
import { nodeHostIo } from "../host/node-host-io.ts";
import { requireDrivers } from "../host/complete-hosts.ts";
import { ownLibc } from "../host/own-libc.ts";
import { type DriverQuestion, type HostChoice, otherHost, readHostOf } from "../host/probe.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { type Requirement, vendorsOf } from "../lock/requirement.ts";
import type { OpenEvent } from "../lock/statement.ts";
import { remember } from "../io/collections.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { problemLines } from "../resolve/answer-lines.ts";
import { checkImage, type ImageCheck, unfit } from "../resolve/check-image.ts";
import { viewHost } from "../resolve/host-view.ts";
import { nearestFirst, noMatch } from "../resolve/nearest.ts";
import { orderBy, sortCandidates } from "../resolve/rank.ts";
import { rankImages, twoKinds } from "../resolve/resolve-image.ts";
import { fitOptions } from "../resolve/resolve-options.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { isOfHost } from "../resolve/verdict.ts";
import { lookInEngine } from "../inspect/image/from-engine.ts";
import type { LocalEngine } from "../lock/lock.ts";
import type { CheckAnswer } from "./check-answer.ts";
import { type KnownFleet, type KnownSubject, knownSubject, type SubjectRequest } from "./checked-subject.ts";
import { type Asked, type Here, judgePart, judgeGpuUse } from "./judge-part.ts";
import { type KnownPart, unopened } from "./known-parts.ts";
import { type Comparison, compareOutcomes, type HostOutcomes, type Outcome } from "./compare-outcomes.ts";
import { gpuNames, readNamedHosts, refuseSingle } from "./many-hosts.ts";
import { noteUnlisted } from "./unlisted.ts";
import { single, together } from "./sum-parts.ts";

export interface CheckOptions
  extends HostChoice,
    Pick<DriverQuestion, "self">,
    RegistryAccess,
    SignatureDemands,
    Watching<OpenEvent> {
  /** As `inspect` takes them: references, images of the engine, wheels, libraries, folders, archives, layouts. */
  readonly subjects: readonly string[];
  /** Its entry counts before an image's label. Default: `images/imgmatch.lock.json`, if it exists. */
  readonly lock?: string;
  /** Many hosts in place of one: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
  /** All machine types of `aws`, `azure`, `gcp` or `nvidia` in place of one host, under `driver`. */
  readonly catalog?: readonly string[];
  /** The engine whose images are looked up. Default: Docker, and Podman where it is the only one. */
  readonly engine?: LocalEngine;
  /** Judge the CPU side alone. */
  readonly cpu?: boolean;
  /** Take no answer for one that runs without a GPU. */
  readonly requireGpu?: boolean;
  /** The subject that ran until now: the answer tells which hosts the new one loses, and why. */
  readonly against?: string;
}

type Some = readonly [string, ...string[]];

/** {@link CheckOptions} with many hosts. */
export type ManyCheckOptions = CheckOptions & ({ readonly hosts: Some } | { readonly catalog: Some });

/** The answer for one of many hosts. */
export interface HostCheck extends CheckAnswer {
  /** The host's name. */
  readonly host: string;
}

/**
 * Judges a subject for one host, or for each of many, and each package of an environment by its own files. An image without a lock's entry and without a label is opened, in its registry or engine.
 * `fits` is null if nothing forbids the subject and nothing proves that it runs. Of several subjects the best comes first, by the order of `resolve`.
 *
 * Throws `FILE_NOT_FOUND`, `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `REFERENCE_INVALID`, `FACTS_…`, `LOCK_…`, `INDEX_…`, `REGISTRY_…`, `SIGNATURE_…`.
 *
 * @example
 * const { fits, why } = await check({ subjects: ["dist/app.whl"], hostType: "g4dn.xlarge", driver: ["580.95.05"] });
 */
export interface CheckFunction {
  (
    options: CheckOptions & { readonly subjects: readonly [string]; readonly against: string },
    given?: Partial<World>,
  ): Promise<Comparison>;
  (options: ManyCheckOptions, given?: Partial<World>): Promise<readonly HostCheck[]>;
  (
    options: CheckOptions & { readonly subjects: readonly [string] },
    given?: Partial<World>,
  ): Promise<CheckAnswer>;
  (
    options: CheckOptions & { readonly subjects: readonly [string, string, ...string[]] },
    given?: Partial<World>,
  ): Promise<readonly CheckAnswer[]>;
}

export function checkWith(ports: ClusterReader & RootSource): CheckFunction {
  const face = (
    options: CheckOptions,
    given?: Partial<World>,
  ): Promise<CheckAnswer | readonly CheckAnswer[] | Comparison> =>
    inWorld(options, given, (world) => checkIn(options, world), ports);
  return face as unknown as CheckFunction;
}

async function checkIn(
  options: CheckOptions,
  world: HostWorld & RootSource,
): Promise<CheckAnswer | readonly CheckAnswer[] | Comparison> {
  const { subjects, lock, onEvent } = options;
  if (options.cpu && options.requireGpu) throw twoKinds();
  const isOther = isAboutMany(options) || otherHost(options) !== null;
  const registry = await registryFor(options, world);
  const first = isOther ? "registry" : "engine";
  const look = lookInEngine(world, options.engine, (line) => note(world, [line]));
  const request: SubjectRequest = { registry, lock, demands: options, first, onEvent, world, look };
  const known = new Map<string, Promise<KnownSubject | KnownFleet>>();
  let here: Here | null = null;
  const judge = async (subject: string, host: HostFacts) => {
    const { platform } = viewHost(host);
    const key = JSON.stringify([subject, platform]);
    const found = await remember(known, key, () => knownSubject(subject, platform, request));
    const asked = {
      host,
      here,
      choice: { cpuOnly: options.cpu === true, requireGpu: options.requireGpu === true },
    };
    return "source" in found ? answerFor(found, asked) : ofFleet(found, asked);
  };
  const [subject = "", ...more] = subjects;
  const { against } = options;
  const isMany = isAboutMany(options);
  if (against !== undefined && more.length > 0)
    throw usageError("--against compares two subjects on each host", "name one beside --against");
  if (isMany) refuseSingle(options);
  if (isMany && more.length > 0)
    throw usageError("many hosts are asked about one subject", "name one subject, or one host");
  const readOne = async (): Promise<NamedHost> => {
    const facts = await readHostOf({ ...options, askDriver: true }, world);
    note(world, problemLines(facts));
    if (!isOther) here = await processOf(facts, options, world);
    return { name: "this host", facts };
  };
  const hosts = isMany ? await readNamedHosts(options, world) : [await readOne()];
  const answers: HostCheck[] = [];
  const judged: Judged[] = [];
  const outcomes: HostOutcomes[] = [];
  for (const { name, facts } of hosts) {
    const own: Judged[] = [];
    for (const each of [...subjects, ...(against === undefined ? [] : [against])])
      own.push(await judge(each, facts));
    const [after, before] = own;
    if (against !== undefined && after !== undefined && before !== undefined)
      outcomes.push({
        host: name,
        gpus: gpuNames(facts),
        before: outcomeOf(before),
        after: outcomeOf(after),
      });
    judged.push(...own);
    answers.push(...own.map(({ answer }) => ({ host: name, ...answer })));
  }
  await noteUnlisted(
    world,
    hosts.map(({ facts }) => facts),
    needed(answers),
  );
  if (isMany && !options.cpu) {
    const fleets = (await Promise.all(known.values())).flatMap((each) => ("lock" in each ? [each.lock] : []));
    const ofFleets = fleets.flatMap((lock) => fitOptions(lock, {}).gpuImages);
    const own = answers.flatMap(({ requires }) => (requires === null ? [] : vendorsOf(requires)));
    requireDrivers(hosts, [...ofFleets, ...own]);
  }
  if (against !== undefined) return compareOutcomes(subject, against, outcomes);
  if (isMany) return answers;
  return more.length === 0 && judged[0] !== undefined ? judged[0].answer : bestFirst(judged);
}

function needed(answers: readonly CheckAnswer[]): readonly Requirement[] {
  return answers.flatMap(({ requires }) => requires ?? []);
}

/** Tells whether the options name many hosts. */
export function isAboutMany(options: CheckOptions): options is ManyCheckOptions {
  return (options.hosts ?? []).length + (options.catalog ?? []).length > 0;
}

/** The answer for one host, with what its place among others depends on. */
interface Judged {
  readonly answer: CheckAnswer;
  readonly verdict: ImageCheck;
}

function outcomeOf({ answer, verdict }: Judged): Outcome {
  const { fits, reasons, unknown, packages } = answer;
  const [first] = [...reasons, ...unknown];
  const deciding = packages.find((each) => [...each.reasons, ...each.unknown][0]?.code === first?.code);
  const part = deciding === undefined || first === undefined ? null : deciding;
  return {
    fits,
    fit: verdict.fit,
    requires: part?.requires ?? answer.requires ?? verdict.requires,
    part: part === null ? "" : [part.name, part.version ?? ""].join(" ").trim(),
    code: first?.code ?? "",
    why: part?.why ?? answer.why ?? "",
  };
}

async function processOf(
  host: HostFacts,
  { self = ["imgmatch"] }: CheckOptions,
  world: HostWorld,
): Promise<Here> {
  const io = nodeHostIo(world.env);
  const mute = new Map<GpuVendor, HostProblem | null>();
  for (const vendor of gpuVendors)
    mute.set(vendor, whyMuteHere(vendor, io) ?? (await askOwnStart(vendor, host, io, self, world)));
  return { libc: ownLibc(), mute };
}

function answerFor({ subject, source, digest, signed, parts, whole }: KnownSubject, asked: Asked): Judged {
  const several = parts.length > 1;
  const requires = several && whole ? judgePart(whole, asked, true).answer.requires : undefined;
  const judged = parts.map((part) => judgeGpuUse(part, asked, several));
  const { answer, verdict } = several ? together(judged, asked) : single(judged);
  const about = { schemaVersion: 1, subject, source, digest } as const;
  return {
    answer: {
      ...{ ...about, ...answer, ...(requires !== undefined && { requires }) },
      ...{ problems: asked.host.problems, ...(signed && { signed }) },
    },
    verdict,
  };
}

/** The image that `resolve` picks for the host, else the image that it names: the first that the host's state refuses, or the nearest. Throws `NO_MATCH` for an index without images. */
function ofFleet({ subject, lock, signed }: KnownFleet, asked: Asked): Judged {
  const { host, choice } = asked;
  const ranking = rankImages(lock, host, choice);
  const [winner] = ranking.ranked;
  const misses = winner === undefined ? nearestFirst(lock, ranking.rejected, ranking.view, choice) : [];
  const miss = misses.find(({ misfits: [first] }) => first && isOfHost(first.code)) ?? misses[0];
  const found = winner ?? miss;
  if (found === undefined) throw noMatch(lock, ranking, choice);
  const { cell } = found;
  const { platform, digest } = found.image;
  const described = { platform, requires: null, env: [], entry: found.image };
  const own = checkImage(described, host, choice);
  // Another image of the index may be the better one, so its refusal is the fleet's.
  const verdict = miss === undefined ? own : { ...own, ...unfit, fits: false, reasons: miss.misfits };
  const part: KnownPart = { ...unopened, judgedBy: "index", described };
  const { answer } = single([judgePart(part, { ...asked, here: null }, false, verdict)]);
  const of = { schemaVersion: 1, subject, source: "registry", digest, cell } as const;
  return { answer: { ...of, ...answer, problems: host.problems, ...(signed && { signed }) }, verdict };
}

/** Those that run, in the order of `resolve`; then those that may; then the others. Equals keep their order. */
function bestFirst(judged: readonly Judged[]): readonly CheckAnswer[] {
  const fitting = judged.flatMap(({ answer, verdict: { fit, requires } }) =>
    answer.fits && fit && requires
      ? [{ answer, cell: answer.subject, fit, image: { axes: {}, tag: "", requires: fit.as ?? requires } }]
      : [],
  );
  const all = judged.map(({ answer }) => answer);
  return [
    ...sortCandidates(orderBy(), fitting).map(({ answer }) => answer),
    ...all.filter(({ fits }) => fits === null),
    ...all.filter(({ fits }) => fits === false),
  ];
}
