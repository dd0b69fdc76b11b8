/** Checks which of some subjects run on a host: images, wheels, libraries, folders. */

import { InternalError, usageError } from "../errors.ts";
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
import { findWorksWithoutGpu } from "../inspect/packages/without-gpu.ts";
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
  type Unproved,
  unfit,
} from "../resolve/check-image.ts";
import { describeCode } from "../resolve/describe-code.ts";
import { type HostView, viewHost } from "../resolve/host-view.ts";
import { nearestFirst, noMatch } from "../resolve/nearest.ts";
import { orderBy, sortCandidates } from "../resolve/rank.ts";
import { rankImages, twoKinds } from "../resolve/resolve-image.ts";
import { causeOf } from "../resolve/rules/gpu-presence.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { efforts, isOfHost, type ReasonCode, tiers } from "../resolve/verdict.ts";
import {
  type KnownFleet,
  type KnownPart,
  type KnownSubject,
  knownSubject,
  type SubjectRequest,
} from "./checked-subject.ts";
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
  /** Judge the CPU side alone. */
  readonly cpu?: boolean;
  /** Take no answer for one that runs without a GPU. */
  readonly requireGpu?: boolean;
}

type Some = readonly [string, ...string[]];

/** {@link CheckOptions} with many hosts. */
export type ManyCheckOptions = CheckOptions & ({ readonly hosts: Some } | { readonly catalog: Some });

export interface CheckAnswer extends PartAnswer {
  readonly schemaVersion: 1;
  /** The name as the caller wrote it, with `latest` in place of a missing tag. */
  readonly subject: string;
  readonly source: KnownSubject["source"];
  readonly digest: string | null;
  readonly platform: string;
  /** The image that this host takes, only of an index that imgmatch wrote. */
  readonly cell?: string;
  /** The source of its needs. */
  readonly judgedBy: KnownPart["judgedBy"];
  /** Needs of which nobody knows whether the host's system meets them: `CPython 3.11`, `glibc >= 2.28`. Empty unless `fits` is true. */
  readonly conditions: readonly string[];
  readonly measured?: string;
  /** Unopened files and unknown facts: it may need more than `requires` says. */
  readonly notes: readonly string[];
  /** The host's problems. */
  readonly problems: readonly HostProblem[];
  /** The image's signers, if a signature is required. */
  readonly signed?: SignedBy;
  /** Each package by its own files, if there are several. */
  readonly packages: readonly PackageAnswer[];
}

/** The answer for a subject, or for a package in it. */
export interface PartAnswer extends Pick<ImageCheck, "fits" | "tier" | "by"> {
  /** From the lock, the files or the label. null without any, and where each of several packages has its own. */
  readonly requires: ImageCheck["requires"];
  /** In few words: the reason why it does not run, is not proved to run, or runs slower than it could; null if it runs as well as it can. */
  readonly why: string | null;
  /** The file that decides `why`; null if it is unknown. */
  readonly file: string | null;
  /** Empty unless `fits` is false. */
  readonly reasons: readonly CheckReason[];
  /** Why nothing proves that it runs; empty if `fits` is true. */
  readonly unknown: readonly CheckReason[];
  /** The GPU code that each GPU would run, in words. */
  readonly runs: readonly string[];
  /** It runs on the CPU, without its code for GPUs: each of the sources that say so, or `--cpu`. Absent for a part that has none or uses it. */
  readonly withoutGpu?: readonly string[];
}

export interface PackageAnswer extends PartAnswer {
  /** `torch`, `@esbuild/*`; empty for the files of no package. */
  readonly name: string;
  /** null if no list of an installer tells it. */
  readonly version: string | null;
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
  if (options.cpu && options.requireGpu) throw twoKinds();
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
    const asked = {
      host,
      here,
      choice: { cpuOnly: options.cpu === true, requireGpu: options.requireGpu === true },
    };
    return "source" in found ? answerFor(found, asked) : ofFleet(found, asked);
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

/** A host, and what the user wants of it. */
interface Asked {
  readonly host: HostFacts;
  /** null for another machine than this. */
  readonly here: Here | null;
  readonly choice: { readonly cpuOnly: boolean; readonly requireGpu: boolean };
}

function answerFor({ subject, source, digest, signed, parts }: KnownSubject, asked: Asked): Judged {
  const several = parts.length > 1;
  const judged = parts.map((part) => judgeSides(part, asked, several));
  const { answer, verdict } = several ? together(judged, asked) : single(judged);
  const about = { schemaVersion: 1, subject, source, digest } as const;
  return {
    answer: { ...about, ...answer, problems: asked.host.problems, ...(signed && { signed }) },
    verdict,
  };
}

const noLacking = { unknown: [], notes: [] };

/** The part by all of its files, or without its code for GPUs where that is asked for, or where somebody says that it works so. */
function judgeSides(part: KnownPart, asked: Asked, isPackage: boolean): JudgedPart {
  const { gpu, name, version } = part;
  if (gpu === null) return judgePart(part, asked, isPackage);
  const row = findWorksWithoutGpu(name, version);
  const aside = (why: readonly string[]): JudgedPart => {
    const judged = judgePart(gpu.cpuSide(), { ...asked, choice: none }, isPackage);
    const { answer } = judged;
    return { ...judged, answer: { ...answer, ...(answer.fits !== false && { withoutGpu: why }) } };
  };
  const isLibraries = isPackage && gpu.use === "libraries";
  if (asked.choice.cpuOnly && (isLibraries || gpu.use === "beside" || row !== null)) return aside(["--cpu"]);
  const whole = judgePart(part, asked, isPackage);
  const { fits, reasons, why } = whole.answer;
  if (fits === true) return whole;
  if (isLibraries) {
    // The packages that load them are judged by what these libraries have, or do without.
    const side = judgePart(gpu.cpuSide(), { ...asked, choice: none }, isPackage);
    return { ...side, notes: hasNoGpu(asked.host) || why === null ? [] : [why] };
  }
  const isForGpu =
    reasons.length > 0 && reasons.every(({ code }) => code === "NO_GPU" || code === "NO_AMD_GPU");
  if (!isForGpu || asked.choice.requireGpu || !hasNoGpu(asked.host)) return whole;
  if (row !== null) return aside([row.source]);
  if (gpu.use !== "beside") return whole;
  const side = judgePart(gpu.cpuSide(), asked, isPackage);
  if (side.answer.fits === false) return side;
  const unknown = [worksUnknown, ...side.answer.unknown];
  return { ...side, answer: { ...side.answer, ...open, why: worksUnknown.message, unknown } };
}

const none = { cpuOnly: false, requireGpu: false };
const open = { fits: null, tier: null, by: [], runs: [] } as const;
const worksUnknown: Unproved = {
  code: "GPU_USE_UNKNOWN",
  message: "loads here; its files do not tell whether it works without a GPU",
  fix: "judge its CPU side alone (--cpu), ask for a GPU (--require-gpu), or try it there",
};

/** A host that has a GPU, or had one, keeps every reason against it. */
function hasNoGpu(host: HostFacts): boolean {
  const { unknownGpuFacts } = viewHost(host);
  return gpuVendors.every(
    (vendor) =>
      host[vendor] == null &&
      unknownGpuFacts[vendor].length === 0 &&
      causeOf(vendor, host.problems) === undefined,
  );
}

interface JudgedPart extends Pick<KnownPart, "name" | "version" | "judgedBy"> {
  readonly answer: PartAnswer;
  readonly verdict: ImageCheck;
  readonly platform: string;
  readonly conditions: readonly string[];
  readonly notes: readonly string[];
}

function judgePart(
  { name, version, judgedBy, described, inspection, system, elsewhere, notes }: KnownPart,
  { host, here, choice }: Asked,
  isPackage: boolean,
  verdict = checkImage(described, host, { ...choice, requireGpu: choice.requireGpu && !isPackage }),
): JudgedPart {
  const view = viewHost(host);
  const { platform } = described;
  const ofSystem = judgeSystem(system, view.platform, here?.libc ?? null);
  const lacking = verdict.fit && inspection ? lackingOf(inspection, verdict, platform, view) : noLacking;
  const unknown = [...verdict.unknown, ...lacking.unknown, ...ofSystem.unknown.map(tagUnknown)];
  const own = verdict.reasons.map((misfit) => {
    const { code, message, short = message } = misfit;
    const ofPlatform = code === "ARCH_MISMATCH" ? elsewhere : null;
    const file = ofPlatform ?? (inspection && decidingFile(code, inspection, view.features));
    return { code, message, short, fix: judgedBy === "lock" ? misfit.fix : fixOfBuild(misfit, host), file };
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
    fits,
    why: fits === true ? describeSlower(verdict.code, host) : (first?.short ?? unknown[0]?.message ?? null),
    file: first?.file ?? null,
    ...(fits === true
      ? { tier: verdict.tier, by: verdict.by, unknown: [] }
      : { tier: null, by: [], unknown }),
    reasons: reasons.map(({ code, message, fix }) => ({ code, message, fix })),
    requires: verdict.requires,
    runs: fits ? describeCode(verdict.code, host) : [],
  };
  const conditions = fits === true ? ofSystem.conditions : [];
  return {
    name,
    version,
    judgedBy,
    answer,
    verdict,
    platform,
    conditions,
    notes: [...notes, ...lacking.notes],
  };
}

function tagUnknown(message: string): Unproved {
  return {
    code: "TAG_UNKNOWN",
    message,
    fix: "see whether an installer takes it there: pip install --dry-run",
  };
}

type Summed = Omit<
  CheckAnswer,
  "schemaVersion" | "subject" | "source" | "digest" | "problems" | "signed" | "cell"
>;

function single([part]: readonly JudgedPart[]): { readonly answer: Summed; readonly verdict: ImageCheck } {
  if (part === undefined) throw new InternalError("a subject without a part");
  const { answer, verdict, platform, judgedBy, conditions, notes } = part;
  const measured = verdict.measured === null ? {} : { measured: verdict.measured };
  return { answer: { platform, judgedBy, ...answer, conditions, notes, packages: [], ...measured }, verdict };
}

/** The worst that is certain is the answer: the reason that takes most to cure, and the packages that have it. */
function together(judged: readonly JudgedPart[], { choice }: Asked) {
  const refused = judged.filter(({ answer }) => answer.fits === false);
  const undecided = judged.filter(({ answer }) => answer.fits === null);
  const effort = ({ answer }: JudgedPart) => efforts[answer.reasons[0]?.code as ReasonCode] ?? 1;
  const worst = [...refused].sort((a, b) => effort(b) - effort(a));
  const tierOf = ({ answer: { tier } }: JudgedPart) => (tier === null ? -1 : tiers.indexOf(tier));
  const slowest = [...judged].sort(
    (a, b) => tierOf(b) - tierOf(a) || Number(b.answer.runs.length > 0) - Number(a.answer.runs.length > 0),
  );
  const slower = judged.find(({ answer }) => answer.fits === true && answer.why !== null);
  const [deciding] =
    [worst, undecided, slower === undefined ? [] : [slower], slowest].find((each) => each.length > 0) ?? [];
  const found = single(deciding === undefined ? [] : [deciding]);
  const of = (name: string, texts: readonly string[]) =>
    texts.map((text) => `${name === "" ? "" : `${name}: `}${text}`);
  const idle = judged.every(({ answer }) => answer.runs.length === 0 && answer.fits === true);
  const reasons = distinct(worst.flatMap(({ answer }) => answer.reasons));
  const asked = choice.requireGpu && idle ? [noneUsesGpu] : [];
  const withoutGpu = distinct(judged.flatMap(({ answer }) => answer.withoutGpu ?? []));
  const summed: Summed = {
    ...found.answer,
    ...(asked.length > 0 && { fits: false, why: noneUsesGpu.message, tier: null, by: [] }),
    judgedBy: "files",
    requires: null,
    reasons: [...reasons, ...asked],
    unknown: distinct((refused.length > 0 ? refused : undecided).flatMap(({ answer }) => answer.unknown)),
    runs: found.answer.fits === true ? distinct(judged.flatMap(({ answer }) => answer.runs)) : [],
    by: found.answer.fits === true ? distinct(judged.flatMap(({ answer }) => answer.by)) : [],
    conditions: found.answer.fits === true ? distinct(judged.flatMap(({ conditions }) => conditions)) : [],
    notes: judged.flatMap(({ name, notes }) => of(name, notes)),
    packages: judged.map(({ name, version, answer }) => ({ name, version, ...answer })),
  };
  const { withoutGpu: _, ...rest } = summed;
  return {
    answer: withoutGpu.length > 0 && rest.fits === true ? { ...rest, withoutGpu } : rest,
    verdict: found.verdict,
  };
}

const noneUsesGpu: CheckReason = {
  code: "PIN_MISMATCH",
  message: "no package has code for a GPU, and one with such code is asked for (--require-gpu)",
  fix: "leave --require-gpu out",
};

function distinct<Value>(all: readonly Value[]): readonly Value[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
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

/** A program may do without a library of the GPU's vendor. Nobody knows whether it does without another one. */
function lackingOf(inspection: ImageInspection, { requires }: ImageCheck, platform: string, view: HostView) {
  const found = requires === null ? [] : lackingLibraries(inspection, requires, platform, view);
  const told = (library: LackingLibrary) =>
    `${library.path} has ${library.misfit.short ?? `no code that runs: ${library.misfit.message}`}`;
  return {
    unknown: found
      .filter(({ isOfVendor }) => !isOfVendor)
      .map((library) => ({
        code: library.misfit.code,
        message: `whether it runs without one of its libraries: ${told(library)}`,
        fix: fixOfBuild(library.misfit),
      })),
    notes: found.filter(({ isOfVendor }) => isOfVendor).map(told),
  };
}

/** The image that `resolve` picks for the host, or the one that it names: the first that the host's state refuses, or the nearest. Throws `NO_MATCH` for an index without images. */
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
  const about = { name: "", version: null, inspection: null, system: null, elsewhere: null, gpu: null };
  const part: KnownPart = { ...about, judgedBy: "index", notes: [], described };
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
