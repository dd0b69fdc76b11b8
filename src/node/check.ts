/** Checks which of some subjects run on a host: images, wheels, libraries, folders. */

import { usageError } from "../errors.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { askOwnStart, whyMuteHere } from "../host/ask-start.ts";
import { nodeHostIo } from "../host/node-host-io.ts";
import { type Libc, ownLibc } from "../host/own-libc.ts";
import { type DriverQuestion, type HostChoice, otherHost, readHostOf } from "../host/probe.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import { decidingFile } from "../inspect/deciding-file.ts";
import type { ImageInspection } from "../inspect/inspection.ts";
import { type LackingLibrary, lackingLibraries } from "../inspect/lacking-libraries.ts";
import type { OpenEvent } from "../lock/statement.ts";
import { judgeSystem } from "../inspect/system-needs.ts";
import { remember } from "../io/collections.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { vendorsOf } from "../lock/requirement.ts";
import { problemLines } from "../resolve/answer-lines.ts";
import { fixOfBuild } from "../resolve/build-cures.ts";
import {
  checkImage,
  type DescribedImage,
  describeSlower,
  type ImageCheck,
  unfit,
} from "../resolve/check-image.ts";
import { describeCode } from "../resolve/describe-code.ts";
import { type HostView, viewHost } from "../resolve/host-view.ts";
import { nearestFirst, noMatch } from "../resolve/nearest.ts";
import { orderBy, sortCandidates } from "../resolve/rank.ts";
import { rankImages } from "../resolve/resolve-image.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { isOfHost } from "../resolve/verdict.ts";
import { type KnownFleet, type KnownSubject, knownSubject, type SubjectRequest } from "./checked-subject.ts";
import { readNamedHosts, refuseSingle } from "./many-hosts.ts";

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
}

type Some = readonly [string, ...string[]];

/** {@link CheckOptions} with many hosts. */
export type ManyCheckOptions = CheckOptions & ({ readonly hosts: Some } | { readonly catalog: Some });

export interface CheckAnswer extends Pick<ImageCheck, "fits" | "tier" | "by" | "unknown" | "requires"> {
  readonly schemaVersion: 1;
  /** The name as the caller wrote it, with `latest` in place of a missing tag. */
  readonly subject: string;
  readonly source: KnownSubject["source"];
  readonly digest: string | null;
  readonly platform: string;
  /** The image that this host takes, only of an index that imgmatch wrote. */
  readonly cell?: string;
  /** The source of its needs. */
  readonly judgedBy: KnownSubject["judgedBy"];
  /** In few words: the reason why it does not run, is not proved to run, or runs slower than it could; null if it runs as well as it can. */
  readonly why: string | null;
  /** The file that decides `why`; null if it is unknown. */
  readonly file: string | null;
  /** Needs of which nobody knows whether the host's system meets them: `CPython 3.11`, `glibc >= 2.28`. Empty unless `fits` is true. */
  readonly conditions: readonly string[];
  readonly reasons: readonly CheckReason[];
  readonly measured?: string;
  /** Unopened files and unknown facts: it may need more than `requires` says. */
  readonly notes: readonly string[];
  /** The host's problems. */
  readonly problems: readonly HostProblem[];
  /** The image's signers, if a signature is required. */
  readonly signed?: SignedBy;
  /** The GPU code that each GPU would run, in words. */
  readonly runs: readonly string[];
}

export interface CheckReason {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

/** The answer for one of many hosts. */
export interface HostCheck extends CheckAnswer {
  /** The host's name. */
  readonly host: string;
}

/**
 * Judges a subject for one host, or for each of many. An image without a lock's entry and without a label is opened, in its registry or engine.
 * `fits` is null if nothing forbids the subject and nothing proves that it runs. Of several subjects the best comes first, by the order of `resolve`.
 *
 * Throws `FILE_NOT_FOUND`, `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `REFERENCE_INVALID`, `FACTS_…`, `LOCK_…`, `INDEX_…`, `REGISTRY_…`, `SIGNATURE_…`.
 *
 * @example
 * const { fits, why } = await check({ subjects: ["dist/app.whl"], hostType: "g4dn.xlarge", driver: "580.95.05" });
 */
export interface CheckFunction {
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
  ): Promise<CheckAnswer | readonly CheckAnswer[]> =>
    inWorld(options, given, (world) => checkIn(options, world), ports);
  return face as unknown as CheckFunction;
}

async function checkIn(
  options: CheckOptions,
  world: HostWorld & RootSource,
): Promise<CheckAnswer | readonly CheckAnswer[]> {
  const { subjects, lock, onEvent } = options;
  const isOther = isAboutMany(options) || otherHost(options) !== null;
  const registry = await registryFor(options, world);
  const first = isOther ? "registry" : "engine";
  const request: SubjectRequest = { registry, lock, demands: options, first, onEvent, world };
  const known = new Map<string, Promise<KnownSubject | KnownFleet>>();
  let here: Here | null = null;
  const judge = async (subject: string, host: HostFacts) => {
    const { platform } = viewHost(host);
    const key = JSON.stringify([subject, platform]);
    const found = await remember(known, key, () => knownSubject(subject, platform, request));
    return "source" in found ? answerFor(host, found, here) : ofFleet(host, found);
  };
  const [subject = "", ...more] = subjects;
  if (!isAboutMany(options)) {
    const host = await readHostOf({ ...options, askDriver: true }, world);
    note(world, problemLines(host));
    if (!isOther) here = await processOf(host, options, world);
    if (more.length === 0) return (await judge(subject, host)).answer;
    const judged: Judged[] = [];
    for (const each of subjects) judged.push(await judge(each, host));
    return bestFirst(judged);
  }
  refuseSingle(options);
  if (more.length > 0)
    throw usageError("many hosts are asked about one subject", "name one subject, or one host");
  if ((options.catalog ?? []).length > 0 && options.driver === undefined)
    throw usageError(
      "no machine type comes with a driver",
      "name the one that they will have: --driver 580.95.05",
    );
  const answers: HostCheck[] = [];
  for (const { name, facts } of await readNamedHosts(options, world)) {
    const { answer } = await judge(subject, facts);
    answers.push({ host: name, ...answer });
  }
  return answers;
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

/** The system of this process. */
interface Here {
  readonly libc: Libc | null;
  /** Why a program of this process gets none of a vendor's GPUs. */
  readonly mute: ReadonlyMap<GpuVendor, HostProblem | null>;
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

function answerFor(
  host: HostFacts,
  known: KnownSubject,
  here: Here | null,
  verdict = checkImage(known.described, host),
): Judged {
  const { subject, source, digest, judgedBy, described, signed, inspection, system, elsewhere } = known;
  const view = viewHost(host);
  const { platform } = described;
  const ofSystem = judgeSystem(system, view.platform, here?.libc ?? null);
  const lacking = verdict.fit && inspection ? lackingOf(inspection, verdict, platform, view) : noLacking;
  const unknown = [...verdict.unknown, ...lacking.unknown, ...ofSystem.unknown];
  const own = verdict.reasons.map((misfit) => {
    const { code, message, short = message } = misfit;
    const ofPlatform = code === "ARCH_MISMATCH" ? elsewhere : null;
    const file = ofPlatform ?? (inspection && decidingFile(code, inspection, view.features));
    return { code, message, short, fix: judgedBy === "lock" ? misfit.fix : fixOfBuild(misfit), file };
  });
  const isElsewhere = own.some(({ code }) => code === "ARCH_MISMATCH");
  const reasons = [
    ...ofSystem.reasons.flatMap((reason) =>
      isElsewhere && reason.code === "ARCH_MISMATCH" ? [] : [{ short: reason.message, ...reason }],
    ),
    ...own,
    // An engine, which is root, starts images.
    ...(here !== null && system !== null ? muteReasons(verdict, described, here) : []),
  ];
  const [first] = reasons;
  const fits = first !== undefined ? false : unknown.length > 0 ? null : verdict.fits;
  const answer = {
    schemaVersion: 1,
    ...{ subject, source, digest, platform, judgedBy, fits },
    why: fits === true ? describeSlower(verdict.code, host) : (first?.short ?? unknown[0] ?? null),
    file: first?.file ?? null,
    ...(fits === true
      ? { tier: verdict.tier, by: verdict.by, conditions: ofSystem.conditions, unknown: [] }
      : { tier: null, by: [], conditions: [], unknown }),
    reasons: reasons.map(({ code, message, fix }) => ({ code, message, fix })),
    requires: verdict.requires,
    ...(verdict.measured !== null && { measured: verdict.measured }),
    notes: [...known.notes, ...lacking.notes],
    problems: host.problems,
    ...(signed && { signed }),
    runs: fits ? describeCode(verdict.code, host) : [],
  } as const;
  return { answer, verdict };
}

/** A program of this process needs a GPU, and its user may open none of a vendor that would do. */
function muteReasons({ fit, requires }: ImageCheck, { undecidedGpus = [] }: DescribedImage, { mute }: Here) {
  const needed = fit?.as ?? requires;
  const vendors = needed === null ? undecidedGpus.map(({ vendor }) => vendor) : vendorsOf(needed);
  const problems = vendors.map((vendor) => mute.get(vendor) ?? null);
  const [problem] = problems;
  if (problem == null || problems.includes(null)) return [];
  const message = `${problem.code}: ${problem.message}`;
  return [{ code: "HOST_BROKEN", message, short: message, fix: problem.fix ?? "", file: null }];
}

const noLacking = { unknown: [], notes: [] };

/** A program may do without a library of the GPU's vendor. Nobody knows whether it does without another one. */
function lackingOf(inspection: ImageInspection, { requires }: ImageCheck, platform: string, view: HostView) {
  const found = requires === null ? [] : lackingLibraries(inspection, requires, platform, view);
  const told = (library: LackingLibrary) =>
    `${library.path} has ${library.misfit.short ?? `no code that runs: ${library.misfit.message}`}`;
  return {
    unknown: found
      .filter(({ isOfVendor }) => !isOfVendor)
      .map((library) => `whether it runs without one of its libraries: ${told(library)}`),
    notes: found.filter(({ isOfVendor }) => isOfVendor).map(told),
  };
}

/** The image that `resolve` picks for the host, or the one that it names: the first that the host's state refuses, or the nearest. Throws `NO_MATCH` for an index without images. */
function ofFleet(host: HostFacts, { subject, lock, signed }: KnownFleet): Judged {
  const ranking = rankImages(lock, host);
  const [winner] = ranking.ranked;
  const misses = winner === undefined ? nearestFirst(lock, ranking.rejected, ranking.view, {}) : [];
  const miss = misses.find(({ misfits: [first] }) => first && isOfHost(first.code)) ?? misses[0];
  const found = winner ?? miss;
  if (found === undefined) throw noMatch(lock, ranking, {});
  const { cell } = found;
  const { platform, digest } = found.image;
  const described = { platform, requires: null, env: [], entry: found.image };
  const from = { source: "registry", judgedBy: "index", inspection: null, system: null, notes: [] } as const;
  const own = checkImage(described, host);
  // Another image of the index may be the better one, so its refusal is the fleet's.
  const judged = miss === undefined ? own : { ...own, ...unfit, fits: false, reasons: miss.misfits };
  const known = { subject, digest, described, elsewhere: null, signed, ...from };
  const { answer, verdict } = answerFor(host, known, null, judged);
  return { answer: { ...answer, cell }, verdict };
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
