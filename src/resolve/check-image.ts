/** Judges an image on a host by the best source of the requirement: a lock's entry, its files, its label, its environment. */

import { groupBy } from "../io/collections.ts";
import { count } from "../io/table.ts";
import { noDigest } from "../oci/digest.ts";
import { needsGpus, type Requirement } from "../lock/requirement.ts";
import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { chosenNames } from "../lock/alternatives.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { parseRequirement } from "../lock/parse-requirement.ts";
import { type HostView, viewHost } from "./host-view.ts";
import { gpuAt } from "./describe-code.ts";
import { describeMeasured } from "./describe-measured.ts";
import { askWithoutCache, checkFitBy, findMisfits } from "./check-fit.ts";
import { checkAmdPresence } from "./rules/amd/amd-gpus.ts";
import { checkBrokenHost } from "./rules/broken-host.ts";
import { checkGpuCode } from "./rules/nvidia/gpu-code.ts";
import { judgeCuda, readCuda } from "./rules/nvidia/image-environment.ts";
import { checkNvidiaPresence } from "./rules/nvidia/nvidia-presence.ts";
import { checkPlatform } from "./rules/platform.ts";
import type { ImageToFit } from "./rules/rule.ts";
import { checkFactsKnown } from "./rules/unknown-facts.ts";
import { listSome } from "./misfit.ts";
import type { FitOptions } from "./resolve-options.ts";
import { type CodeFit, type Fit, isMisfit, type Misfit, type ReasonCode, type Tier } from "./verdict.ts";
import { toldFeature } from "../hardware/cpu-features.ts";

/** Facts of an image's configuration. */
export interface DescribedImage {
  /** `os/architecture`, with the variant where there is one. */
  readonly platform: string;
  /** The value of the label `dev.imgmatch.requires`; null for an image without it. */
  readonly requires: string | null;
  /** `NAME=value` */
  readonly env: readonly string[];
  /** A lock's entry of this image, or the needs of its opened files. It counts before the label, which was written before anything was measured. */
  readonly entry?: Pick<LockedImage, "requires" | "measured" | "adopted"> | undefined;
  /** CPU features of the entry that nothing proves to be needed. */
  readonly compiledFor?: readonly CompiledFor[];
  /** Needs that its files do not tell. */
  readonly undecided?: readonly Unproved[];
  /** Vendors of GPUs that the image needs, without a side in `entry`: the files do not tell which driver is needed, or which code is loaded. */
  readonly undecidedGpus?: readonly UndecidedGpu[];
}

export interface UndecidedGpu {
  readonly vendor: GpuVendor;
  /** All that its files hold: `sm_80`; null where they may hold more. */
  readonly code: readonly string[] | null;
}

/** Reasons of `check` that prove no no. */
export const unprovedCodes = [
  "CPU_COMPILED_FOR",
  "CPU_NOT_PROVED",
  "GPU_USE_UNKNOWN",
  "NEED_UNKNOWN",
  "TAG_UNKNOWN",
] as const;
export type UnprovedCode = (typeof unprovedCodes)[number];

/** A reason why nothing proves that an image runs. */
export interface Unproved {
  readonly code: UnprovedCode | ReasonCode;
  readonly message: string;
  readonly fix: string;
}

/** A need that the files do not tell. */
export function needUnknown(message: string): Unproved {
  const fix = "see with imgmatch inspect what its files hold, and try it there";
  return { code: "NEED_UNKNOWN", message, fix };
}

/** A CPU feature that nothing proves to be needed. */
export interface CompiledFor {
  /** By an estimate the file was compiled for it, or nothing is known. */
  readonly need: "compiledFor" | "undecided";
  /** Linux name. */
  readonly feature: string;
  readonly file: string;
  /** The number of its instructions in the file. */
  readonly instructions: number;
  /** Code of the file asks the CPU. */
  readonly asks: boolean;
}

export interface ImageCheck {
  /** null is unknown: never read it as a yes. */
  readonly fits: boolean | null;
  /** Empty unless `fits` is false. */
  readonly reasons: readonly Misfit[];
  /** Facts that this image does not tell; empty unless `fits` is null or false. */
  readonly unknown: readonly Unproved[];
  /** From the lock, the files or the label; null without any. */
  readonly requires: Requirement | null;
  /** See `Match.measured`. */
  readonly measured: string | null;
  /** Only for an image that fits. */
  readonly tier: Tier | null;
  readonly code: readonly CodeFit[];
  /** See `Match.by`. Empty for an image with a single variant of each kind, and for an image that does not fit. */
  readonly by: readonly string[];
  /** null unless it fits. */
  readonly fit: Fit | null;
}

/**
 * An image with an entry or imgmatch's label is judged by all rules. Any other image is judged by its architecture, `NVIDIA_REQUIRE_CUDA`
 * and `CUDA_VERSION`. Architecture and environment can prove a no, never a yes.
 */
export function checkImage(
  image: DescribedImage,
  host: HostFacts,
  choice: Pick<FitOptions, "cpuOnly" | "requireGpu"> = {},
): ImageCheck {
  const view = viewHost(host);
  const { entry, undecided = [], undecidedGpus = [], compiledFor = [] } = image;
  if (entry !== undefined) {
    const located = { axes: {}, ...entry, platform: image.platform, digest: noDigest };
    // Features of another architecture say nothing of this CPU.
    const isOwn = checkPlatform(image.platform, view) === null;
    const unproved = compiledFor.filter(({ feature }) => isOwn && view.features?.has(feature) === false);
    const found = judged(
      without(located, unproved),
      view,
      describeMeasured(entry),
      undecidedGpus.length > 0 ? {} : choice,
    );
    const unknown = [...found.unknown, ...describeUnproved(unproved, view), ...undecided];
    const lacking = whyNoGpu(undecidedGpus, view);
    // Without its GPU side it would read as the requirement of a CPU image.
    const requires = undecidedGpus.length > 0 ? null : found.requires;
    const answer = { ...found, requires, unknown };
    if (lacking !== null) return { ...answer, ...unfit, fits: false, reasons: [...found.reasons, lacking] };
    return found.fits && unknown.length > 0 ? { ...answer, ...unfit, fits: null } : answer;
  }
  if (image.requires === null) return withoutLabel(image, view, undecided);
  const parsed = parseRequirement(image.requires);
  if (!parsed.ok)
    return withoutLabel(image, view, [
      needUnknown(`its label dev.imgmatch.requires cannot be read: ${parsed.mistakes.join("; ")}`),
      ...undecided,
    ]);
  const { requires } = parsed;
  return judged({ platform: image.platform, requires, axes: {}, digest: noDigest }, view, null, choice);
}

/** Nothing runs of an image that is not known to fit. */
export const unfit = { tier: null, by: [], fit: null } as const;

/** The image as if it needed only what is proved. */
function without(image: ImageToFit, unproved: readonly CompiledFor[]): ImageToFit {
  if (unproved.length === 0) return image;
  const left = new Set(unproved.map(({ feature }) => feature));
  const proved = <Cpu extends { readonly features: readonly string[] }>(cpu: Cpu): Cpu => ({
    ...cpu,
    features: cpu.features.filter((feature) => !left.has(feature)),
  });
  const { or, ...first } = image.requires.cpu;
  const cpu = { ...proved(first), ...(or !== undefined && { or: or.map(proved) }) };
  return { ...image, requires: { ...image.requires, cpu } };
}

function describeUnproved(
  unproved: readonly CompiledFor[],
  { unknownFeatures, cpu: { level } }: Pick<HostView, "unknownFeatures" | "cpu">,
): readonly Unproved[] {
  const build = level === null ? "a build for this CPU" : `a build for ${level}`;
  const isUntold = ({ feature }: CompiledFor) => unknownFeatures.has(feature);
  return [...groupBy(unproved, ({ file }) => file)].map(([file, uses]) => {
    const named = (some: readonly CompiledFor[]) => listSome(some.map(({ feature }) => toldFeature(feature)));
    const lacking = uses.filter((use) => !isUntold(use));
    const likely = lacking.filter(({ need }) => need === "compiledFor");
    const counted = (some: readonly CompiledFor[]) =>
      `${named(some)} (${count(Math.max(...some.map(({ instructions }) => instructions)), "instruction")})`;
    const fix = `take ${build}, or run it on a host with ${named(uses)}`;
    if (likely.length > 0) {
      const asks = likely.some((use) => use.asks) ? "" : ", and nothing in it asks the CPU";
      const message = `${file} was compiled for ${counted(likely)}, which this host's CPU does not have${asks}`;
      return { code: "CPU_COMPILED_FOR", message, fix };
    }
    const told = (some: readonly CompiledFor[], why: string) =>
      some.length === 0 ? [] : [`${counted(some)}, ${why}`];
    const isAsked = uses.every(({ instructions }) => instructions === 0);
    const needs = [
      ...told(lacking, "which this host's CPU does not have"),
      ...told(uses.filter(isUntold), "of which this host's facts do not tell"),
    ];
    return {
      code: "CPU_NOT_PROVED",
      message: `whether ${file} runs here: it ${isAsked ? `asks for ${named(uses)} and may refuse` : `may need ${needs.join(", and ")}`}`,
      fix: lacking.length === 0 ? "run imgmatch probe on the host itself, where the kernel tells them" : fix,
    };
  });
}

type Presence = (view: HostView, code: UndecidedGpu["code"]) => { readonly ok: true } | Misfit;

const presences: Readonly<Record<GpuVendor, Presence>> = {
  nvidia: (view, code) => {
    const found = checkNvidiaPresence(view);
    if (!found.ok || code === null) return found;
    const known = found.nvidia.gpus.filter(({ compute }) => compute !== null);
    const fits = checkGpuCode({ code, toolkit: "" }, { ...found.nvidia, gpus: known }, null);
    return isMisfit(fits) ? fits : found;
  },
  amd: checkAmdPresence,
};

/** The reason why a host has no usable GPU of a vendor; null if it has one. */
function whyUnusable(vendor: GpuVendor, view: HostView, code: UndecidedGpu["code"] = null): Misfit | null {
  const found = checkBrokenHost(vendor, view, {}) ?? checkFactsKnown(vendor, view, {});
  const present = found ?? presences[vendor](view, code);
  return present.ok ? null : present;
}

/** An image for several vendors needs a GPU of one. null if the host has one, or if the image needs none. */
function whyNoGpu(gpus: readonly UndecidedGpu[], view: HostView): Misfit | null {
  const found = gpus.map(({ vendor, code }) => whyUnusable(vendor, view, code));
  return found.includes(null) ? null : (found[0] ?? null);
}

function judged(
  image: ImageToFit,
  view: HostView,
  measured: string | null,
  choice: Pick<FitOptions, "cpuOnly" | "requireGpu">,
): ImageCheck {
  const { accelerator, ...judgeable } = image.requires;
  if (accelerator != null) {
    // The user has asked for this image by its name. Its other needs can be judged.
    const rest = judged({ ...image, requires: judgeable }, view, measured, choice);
    const unknown = [needUnknown(`whether ${accelerator} works on this host is not known`)];
    return {
      ...rest,
      requires: image.requires,
      unknown,
      ...(rest.fits === true ? { ...unfit, fits: null } : {}),
    };
  }
  const requires = neededRequirement(image);
  // The user has chosen a CPU image by its name: broken GPUs are no reason against it.
  const options = { ...choice, cpuOnly: choice.cpuOnly === true || !needsGpus(requires) };
  const verdict = checkFitBy(askWithoutCache, image, view, options);
  const known = { unknown: [], requires, measured };
  if (!verdict.ok)
    return { ...known, ...unfit, fits: false, reasons: findMisfits(image, view, options), code: [] };
  const { tier, code, as } = verdict;
  const chosen = as === undefined ? [] : chosenNames(as);
  return { ...known, fits: true, reasons: [], tier, code, by: chosen, fit: verdict };
}

function withoutLabel(image: DescribedImage, view: HostView, first: readonly Unproved[]): ImageCheck {
  const platform = checkPlatform(image.platform, view);
  const cuda =
    platform === null
      ? judgeCuda(readCuda(image.env), view, whyUnusable("nvidia", view))
      : { reasons: [], unknown: [] };
  const reasons = [...(platform === null ? [] : [platform]), ...cuda.reasons];
  const unknown = [
    ...first,
    ...["which CPU features its programs use", "the oldest kernel they run on", ...cuda.unknown].map(
      needUnknown,
    ),
  ];
  const fits = reasons.length > 0 ? false : null;
  return { ...unfit, fits, reasons, unknown, requires: null, measured: null, code: [] };
}

/** Why code runs slower than the GPU's own would; null if every GPU runs its own. */
export function describeSlower(code: readonly CodeFit[], facts: Pick<HostFacts, GpuVendor>): string | null {
  const place = code.findIndex(({ kind, distance }) => kind === "ptx" || kind === "spirv" || distance > 0);
  const worst = code[place];
  if (worst === undefined) return null;
  const { target, kind } = worst;
  const how = kind === "sass" ? "not code of its own" : "which the driver compiles when a program starts";
  return `${gpuAt(place, target, facts)} runs ${target}, ${how}`;
}
