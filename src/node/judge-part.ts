/** Judges a package of a subject, or the whole subject, on a host: by all of its files, or without its code for GPUs. */

import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { Libc } from "../host/own-libc.ts";
import { decidingFile } from "../inspect/deciding-file.ts";
import type { ImageInspection } from "../inspect/inspection.ts";
import { type LackingLibrary, lackingLibraries } from "../inspect/lacking-libraries.ts";
import { findWithoutGpu } from "../inspect/packages/without-gpu.ts";
import { judgeSystem } from "../inspect/system-needs.ts";
import { vendorsOf } from "../lock/requirement.ts";
import { unusedWords } from "../resolve/answer-lines.ts";
import { listSome } from "../resolve/misfit.ts";
import { lackingDeviceNotes } from "./amd-devices.ts";
import { fixOfBuild } from "./build-cures.ts";
import {
  checkImage,
  type DescribedImage,
  describeSlower,
  type ImageCheck,
  type Unproved,
} from "../resolve/check-image.ts";
import { describeCode } from "../resolve/describe-code.ts";
import { type HostView, viewHost } from "../resolve/host-view.ts";
import { wantsCpu } from "../resolve/resolve-options.ts";
import { unusedBy } from "../resolve/unasked.ts";
import { repairOf } from "../resolve/rules/broken-host.ts";
import { sideOf } from "../resolve/rules/gpu-side.ts";
import { causeOf } from "../resolve/rules/gpu-presence.ts";
import type { PartAnswer } from "./check-answer.ts";
import { judgeVariant } from "./judge-variant.ts";
import type { KnownPart } from "./known-parts.ts";
import { toldFeature } from "../hardware/cpu-features.ts";

/** The system of this process. */
export interface Here {
  readonly libc: Libc | null;
  /** Why a program of this process gets none of a vendor's GPUs. */
  readonly mute: ReadonlyMap<GpuVendor, HostProblem | null>;
}

/** A host, and what the user wants of it. */
export interface Asked {
  readonly host: HostFacts;
  /** null for another machine than this. */
  readonly here: Here | null;
  readonly choice: { readonly cpuOnly: boolean; readonly requireGpu: boolean };
}

const noLacking = { unknown: [], notes: [] };

/** The part by all files; without GPU code where the user asks for the CPU side, or where a table says that the CPU side works alone. */
export function judgeGpuUse(part: KnownPart, asked: Asked, isPackage: boolean): JudgedPart {
  const { gpu, name, version } = part;
  if (gpu === null) return judgePart(part, asked, isPackage);
  const row = findWithoutGpu(name, version);
  const aside = (why: readonly string[]): JudgedPart => {
    const judged = judgePart(gpu.idlePart(), { ...asked, choice: none }, isPackage);
    const { answer } = judged;
    return { ...judged, answer: { ...answer, ...(answer.fits !== false && { withoutGpu: why }) } };
  };
  const isLibraries = isPackage && gpu.use === "libraries";
  if (asked.choice.cpuOnly && (isLibraries || gpu.use === "beside" || row?.works)) return aside(["--cpu"]);
  const whole = judgePart(part, asked, isPackage);
  const { fits, reasons, why } = whole.answer;
  if (fits === true) return whole;
  if (isLibraries) {
    // The packages that load them are judged by what these libraries have, or do without.
    const isIdle = hasNoGpu(asked.host);
    const idle = judgePart(isIdle ? gpu.idlePart() : gpu.cpuPart(), { ...asked, choice: none }, isPackage);
    return { ...idle, notes: isIdle || why === null ? [] : [why] };
  }
  const isForGpu =
    reasons.length > 0 && reasons.every(({ code }) => code === "NO_GPU" || code === "NO_AMD_GPU");
  if (!isForGpu || asked.choice.requireGpu || !hasNoGpu(asked.host)) return whole;
  if (row?.works) return aside([row.source]);
  if (gpu.use !== "beside") return whole;
  const beside = judgePart(gpu.cpuPart(), asked, isPackage);
  if (beside.answer.fits === false) return beside;
  if (row !== null) return { ...whole, notes: [...whole.notes, `it needs a GPU, says ${row.source}`] };
  const unknown = [worksUnknown, ...beside.answer.unknown];
  return { ...beside, answer: { ...beside.answer, ...open, why: worksUnknown.message, unknown } };
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

export interface JudgedPart extends Pick<KnownPart, "name" | "version" | "judgedBy"> {
  readonly answer: PartAnswer;
  readonly verdict: ImageCheck;
  readonly platform: string;
  readonly conditions: readonly string[];
  readonly notes: readonly string[];
}

export function judgePart(
  { name, version, judgedBy, described, inspection, system, elsewhere, notes, lacking: devices }: KnownPart,
  { host, here, choice }: Asked,
  isPackage: boolean,
  verdict = checkImage(described, host, { ...choice, requireGpu: choice.requireGpu && !isPackage }),
): JudgedPart {
  const view = viewHost(host);
  const { platform } = described;
  const ofSystem = judgeSystem(system, view.platform, here?.libc ?? null);
  const ofVariant = judgeVariant(system?.variant ?? null, host);
  const lacking = verdict.fit && inspection ? lackingOf(inspection, verdict, platform, view) : noLacking;
  const unknown = [
    ...verdict.unknown,
    ...lacking.unknown,
    ...[...ofSystem.unknown, ...ofVariant.unknown].map(tagUnknown),
  ];
  const own = verdict.reasons.map((misfit) => {
    const { code, message, short = message } = misfit;
    const ofPlatform = code === "ARCH_MISMATCH" ? elsewhere : null;
    const file = ofPlatform ?? (inspection && decidingFile(code, inspection, view.features));
    return { code, message, short, fix: judgedBy === "lock" ? misfit.fix : fixOfBuild(misfit, host), file };
  });
  const isElsewhere = own.some(({ code }) => code === "ARCH_MISMATCH");
  const reasons = [
    ...[...ofSystem.reasons, ...ofVariant.reasons].flatMap((reason) =>
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
    notes: [
      ...notes,
      ...lacking.notes,
      ...(fits && inspection ? unfollowedChoices(inspection, view) : []),
      ...lackingDeviceNotes(devices, host),
      ...(fits && system === null && !isPackage ? idleGpus(verdict, view, choice) : []),
    ],
  };
}

/** Of AArch64 no question is followed to the code that it chooses. */
function unfollowedChoices({ cpu, files }: ImageInspection, { features }: HostView): readonly string[] {
  if (cpu.architecture !== "aarch64" || features === null) return [];
  const isUsed = (name: string) => files.some((file) => (file.cpu?.features[name]?.instructions ?? 0) > 0);
  const lacking = Object.keys(cpu.features).filter((name) => !features.has(name) && isUsed(name));
  if (lacking.length === 0) return [];
  const asked = "imgmatch did not follow whether the program asks the CPU first";
  return [`it may use ${listSome(lacking.map(toldFeature))}, which this host's CPU does not have: ${asked}`];
}

/** The GPUs of the host that an image without GPU code leaves unused, in the words of `resolve`. */
function idleGpus({ requires }: ImageCheck, view: HostView, choice: Asked["choice"]): readonly string[] {
  if (requires === null || sideOf(requires) !== "cpu" || wantsCpu(choice)) return [];
  const unused = unusedBy({ images: {} }, view);
  return unused.length === 0 ? [] : [unusedWords(unused.map(({ label }) => label))];
}

function tagUnknown(message: string): Unproved {
  return {
    code: "TAG_UNKNOWN",
    message,
    fix: "see whether an installer takes it there: pip install --dry-run",
  };
}

/** A program of this process needs a GPU, and the user may open no GPU of a suitable vendor. */
function muteReasons({ fit, requires }: ImageCheck, { undecidedGpus = [] }: DescribedImage, { mute }: Here) {
  const needed = fit?.as ?? requires;
  const vendors = needed === null ? undecidedGpus.map(({ vendor }) => vendor) : vendorsOf(needed);
  const problems = vendors.map((vendor) => mute.get(vendor) ?? null);
  const [problem] = problems;
  if (problem == null || problems.includes(null)) return [];
  const message = `${problem.code}: ${problem.message}`;
  return [{ code: "HOST_BROKEN", message, short: message, fix: repairOf(problem), file: null }];
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
        message: `whether it runs without a library of its own: ${told(library)}`,
        fix: fixOfBuild(library.misfit),
      })),
    notes: found.filter(({ isOfVendor }) => isOfVendor).map(told),
  };
}
