/** The verdict on one image: the rules, in the order in which a person would ask them. */

import type { GpuVendor } from "../hardware/requirement.ts";
import type { HostFacts } from "../host/facts.ts";
import type { CudaRequirement, LockedImage, Requirement, RocmRequirement } from "../lock/lock.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { unknownNeeds } from "../lock/parse-requirement.ts";
import { builtFor } from "./built-for.ts";
import { describeMeasured } from "./describe-measured.ts";
import { InternalError } from "../errors.ts";
import { printable } from "../printable.ts";
import { effortOf } from "./efforts.ts";
import { compareKeys, type OrderStep, type SortKey } from "./order-steps.ts";
import { orderBy, sortCandidates } from "./rank.ts";
import type { FindCells } from "./find-cell.ts";
import { type HostView, type NvidiaView, viewHost } from "./host-view.ts";
import { listSome, misfit, withCures } from "./misfit.ts";
import { pinTextOf, wantsCpu, wantsXnack } from "./resolve-options.ts";
import { checkPins, type Pins } from "./pins.ts";
import { checkAmdCode, checkAmdPresence } from "./rules/amd-gpus.ts";
import { checkBrokenHost } from "./rules/broken-host.ts";
import { checkCpu } from "./rules/cpu-instructions.ts";
import { checkDriver } from "./rules/driver.ts";
import { checkGpuCode } from "./rules/gpu-code.ts";
import { checkGpuPresence } from "./rules/gpu-presence.ts";
import { isConcerned, sideOf, type Wanted } from "./rules/gpu-side.ts";
import { checkKernel, checkPlatform } from "./rules/kernel-version.ts";
import { checkNvidiaRequire } from "./rules/nvidia-require.ts";
import { checkTold } from "./rules/untold-facts.ts";
import type { CodeFit, Fit, Misfit, ReasonCode, Verdict } from "./verdict.ts";
import { type Trial, workingCures } from "./working-fix.ts";

/** The part of a locked image that the rules read. */
export type ImageToFit = Pick<
  LockedImage,
  "platform" | "requires" | "measured" | "adopted" | "digest" | "local" | "axes"
>;

export interface FitOptions {
  readonly pins?: Pins;
  /** The user asks for an image without GPU code, also on a broken host. */
  readonly cpuOnly?: boolean;
  /** The user asks for an image with GPU code, and for none where none fits. */
  readonly requireGpu?: boolean;
  /** The vendors for whose GPUs the fleet has images that could be the answer on some host. Default: it is not known, and does not count. */
  readonly gpuImages?: readonly GpuVendor[];
  /** Which of several of a kind in one image is the best that a host meets. Default: the order without preferences. */
  readonly order?: readonly OrderStep[];
  /** As `ResolveImageOptions`. */
  readonly local?: ReadonlySet<string>;
  /** Finds cells of the lock, so that no fix proposes to add one that exists. */
  readonly existing?: FindCells;
}

/**
 * Whether this image runs on this host, and if not, the first reason why.
 *
 * @example
 * const verdict = checkFit(lock.images[cell], facts);
 * if (!verdict.ok) console.error(`${verdict.code}: ${verdict.message} (${verdict.fix})`);
 */
export function checkFit(image: ImageToFit, host: HostFacts, options: FitOptions = {}): Verdict {
  return checkViewFit(image, viewHost(host), options);
}

/** {@link checkFit} for a host that was read once for many images. */
export function checkViewFit(image: ImageToFit, host: HostView, options: FitOptions = {}): Verdict {
  const verdict = checkFitBy(askNow, image, host, options);
  return verdict.ok ? verdict : withWorkingCures(verdict, image, host, options);
}

/**
 * The same for one who keeps the answers of rules, and reads few of the cures: none is tried yet. Of an image that carries several of a
 * kind the best that fits counts, and where none does, the nearest.
 */
export function checkFitBy(ask: AskRule, image: ImageToFit, host: HostView, options: FitOptions): Verdict {
  const alternatives = alternativesOf(image);
  if (alternatives.length === 1) return checkOne(ask, image, host, options);
  const fits = alternatives.flatMap((one) => {
    const fit = checkOne(ask, one, host, options);
    return fit.ok ? [{ cell: "", image: { ...one, tag: "" }, fit }] : [];
  });
  const [best] = sortCandidates(options.order ?? orderBy(), fits);
  if (best !== undefined) return { ...best.fit, as: best.image.requires };
  const [first] = findMisfitsBy(ask, image, host, options);
  if (first === undefined) throw new InternalError("no alternative fits, and none has a misfit");
  return first;
}

function checkOne(ask: AskRule, image: ImageToFit, host: HostView, options: FitOptions): Verdict {
  for (const rule of misfitRules) {
    const found = rule(ask, image, host, options);
    if (found !== null) return found;
  }
  const served = askGpus(ask, image, host, options);
  if (served !== null && !("ok" in served)) return served[0];
  const built = ask(buildRule, image, host, options);
  return { ...(served ?? { ok: true, tier: "native", code: [] }), builtFor: built };
}

/**
 * The misfit of {@link checkFitBy} with cures that work, as {@link checkViewFit} tells it. Cures are tried when somebody reads them: most
 * answers are read for their match.
 */
export function withWorkingCures(
  found: Misfit,
  image: ImageToFit,
  host: HostView,
  { existing }: FitOptions,
): Misfit {
  return withCures(found, () => workingCures(found, { image, host, trial, existing }));
}

/** Every reason why an image does not fit, in the order of the rules; empty when it fits. */
export function findMisfits(image: ImageToFit, host: HostView, options: FitOptions = {}): readonly Misfit[] {
  return findMisfitsBy(askNow, image, host, options).map((found) =>
    withWorkingCures(found, image, host, options),
  );
}

/** The same for one who keeps the answers of rules: no cure is tried yet. */
export function findMisfitsBy(
  ask: AskRule,
  image: ImageToFit,
  host: HostView,
  options: FitOptions,
): readonly Misfit[] {
  const [first, ...others] = alternativesOf(image).map((one) => ({
    one,
    misfits: misfitsOfOne(ask, one, host, options),
  }));
  if (first === undefined) return [];
  if (others.length === 0) return first.misfits;
  const nearest = others.reduce(
    (best, each) => (compareKeys(distanceOf(each), distanceOf(best)) < 0 ? each : best),
    first,
  );
  return nearest.misfits.map((found) => namedAfter(found, nearest.one));
}

/** Vendors in their order and then reasons decide between equals, so that the order in which an image lists them never matters. */
function distanceOf({ one, misfits }: { one: ImageToFit; misfits: readonly Misfit[] }): SortKey {
  const vendor = one.requires.cuda === null ? 1 : 0;
  return [...effortOf(misfits), vendor, misfits.map(({ code, message }) => `${code} ${message}`).join()];
}

/** Of an image that carries several of a kind a person sees which one the numbers are of. */
function namedAfter(found: Misfit, { requires: { cpu, cuda, rocm } }: ImageToFit): Misfit {
  const gpu = cuda ?? rocm;
  const name = found.code === "CPU_FEATURES_MISSING" ? cpu.by : ofGpus.has(found.code) ? gpu?.by : undefined;
  return name === undefined
    ? found
    : withCures(
        { ...found, message: printable(`${found.message} (${name}, the nearest that it has)`) },
        () => found.cures,
      );
}

const ofGpus: ReadonlySet<string> = new Set([
  "DRIVER_TOO_OLD",
  "DRIVER_NOT_EXACT",
  "NO_GPU_CODE",
  "PTX_TOO_NEW",
  "COMPAT_NOT_SUPPORTED",
] satisfies ReasonCode[]);

function misfitsOfOne(
  ask: AskRule,
  image: ImageToFit,
  host: HostView,
  options: FitOptions,
): readonly Misfit[] {
  const found = misfitRules.flatMap((rule) => rule(ask, image, host, options) ?? []);
  const served = askGpus(ask, image, host, options);
  return served === null || "ok" in served ? found : [...found, ...served];
}

/** Of hardware alone: whether it is built and asked for is another matter. */
const trial: Trial = (image, host) =>
  new Set(findMisfitsBy(askNow, { ...image, digest: triedDigest }, host, {}).map(({ code }) => code));

const triedDigest = `sha256:${"0".repeat(64)}` as const;

/** Rules that no host changes: a user's own wish, and whether the image is there. */
const hostless = [
  ({ axes }, { pins }) => (pins === undefined ? null : checkPins(axes, pins)),
  ({ requires }, options) => checkKind(sideOf(requires) !== "cpu", options),
  checkAsked,
  ({ requires }) => checkUnderstood(requires),
  checkBuilt,
] as const satisfies readonly ((image: ImageToFit, options: FitOptions) => Misfit | null)[];

/** Whether some host could get this image as the answer. */
export function isEligible(image: ImageToFit, options: FitOptions): boolean {
  return hostless.every((rule) => rule(image, options) === null);
}

/** A rule with all that it is told of an image and of a host, so that who judges many hosts may keep its answer for both. */
export interface Rule<Image, Asked extends keyof HostView, Answer> {
  readonly image: (image: ImageToFit) => Image;
  /** The part of that on which the answer depends, as JSON. Default: all of it. */
  readonly imageKey?: (image: Image) => unknown;
  readonly asks: readonly Asked[];
  readonly answer: (image: Image, host: Pick<HostView, Asked>, options: FitOptions) => Answer;
}

/** Asks a rule about an image and a host, with the same options each time, or knows what it answered before. */
export type AskRule = <Image, Asked extends keyof HostView, Answer>(
  rule: Rule<Image, Asked, Answer>,
  image: ImageToFit,
  host: HostView,
  options: FitOptions,
) => Answer;

export const askNow: AskRule = (rule, image, host, options) => rule.answer(rule.image(image), host, options);

function ruleOf<Image, Asked extends keyof HostView, Answer>(
  rule: Rule<Image, Asked, Answer>,
): Rule<Image, Asked, Answer> {
  return rule;
}

type MisfitRule = (ask: AskRule, image: ImageToFit, host: HostView, options: FitOptions) => Misfit | null;

function misfitRule<Image, Asked extends keyof HostView>(
  rule: Rule<Image, Asked, Misfit | null>,
): MisfitRule {
  return (ask, image, host, options) => ask(rule, image, host, options);
}

/** Whether the answer about an image would be another one if the host had other GPUs of this vendor: always for one with code for them. */
export function dependsOnGpus(requires: Requirement, vendor: GpuVendor, options: FitOptions): boolean {
  return isConcerned(sideOf(requires), vendor, wantedBy(options));
}

function wantedBy(options: FitOptions): Wanted {
  return { cpu: wantsCpu(options), gpuImages: options.gpuImages ?? [] };
}

type CpuImage = Pick<ImageToFit, "platform" | "requires" | "measured" | "adopted">;

/** A user's own wish comes first, then what no repair changes, then the host's health, then the numbers; the GPUs come last. */
const misfitRules: readonly MisfitRule[] = [
  ...hostless.map(
    (rule): MisfitRule =>
      (_ask, image, _host, options) =>
        rule(image, options),
  ),
  misfitRule({
    image: ({ platform }) => platform,
    asks: ["platform"],
    answer: checkPlatform,
  }),
  misfitRule({
    image: ({ requires }) => sideOf(requires),
    asks: ["broken"],
    answer: (side, host, options) => checkBrokenHost(side, wantedBy(options), host),
  }),
  misfitRule({
    image: ({ requires }) => sideOf(requires),
    asks: ["untold", "others"],
    answer: (side, host, options) => checkTold(side, wantedBy(options), host),
  }),
  misfitRule({
    image: (image): CpuImage => image,
    imageKey: ({ platform, requires, measured, adopted }) => [platform, requires.cpu, measured, adopted],
    asks: ["platform", "cpu", "features", "unknown"],
    // Features of another architecture are no lack of this CPU.
    answer: (image, host) =>
      sameArchitecture(image.platform, host)
        ? checkCpu(neededRequirement(image).cpu, host, {
            measured: () => describeMeasured(image),
            adopted: image.adopted,
          })
        : null,
  }),
  misfitRule({
    image: ({ requires }) => requires.kernel,
    asks: ["kernel"],
    answer: checkKernel,
  }),
];

/** For how much of the CPU the image was built. */
const buildRule = ruleOf({
  image: (image): Omit<CpuImage, "adopted"> => image,
  imageKey: ({ platform, requires, measured }) => [platform, requires.cpu, measured],
  asks: ["features"],
  answer: (image, { features }) => builtFor(image, features ?? new Set()),
});

const nvidiaRule = ruleOf({
  image: ({ requires }) => requires.cuda,
  asks: ["nvidia", "untold", "broken", "others", "runtime"],
  answer: (cuda, host) => (cuda === null || host.untold.nvidia.length > 0 ? null : serveGpus(cuda, host)),
});

const amdRule = ruleOf({
  image: ({ requires, axes }) => (requires.rocm == null ? null : { ...requires.rocm, compute: axes.compute }),
  asks: ["amd", "untold", "broken", "others"],
  answer: (rocm, host, options) =>
    rocm === null || host.untold.amd.length > 0 ? null : serveAmdGpus(rocm, host, options),
});

/** Of an image that carries code for both vendors each is an alternative: here it has one of them. */
function askGpus(ask: AskRule, image: ImageToFit, host: HostView, options: FitOptions) {
  return image.requires.cuda === null
    ? ask(amdRule, image, host, options)
    : ask(nvidiaRule, image, host, options);
}

function sameArchitecture(platform: string, host: Pick<HostView, "platform">): boolean {
  return platform.split("/")[1] === host.platform.split("/")[1];
}

/** Nobody can say whether a host meets what this imgmatch does not know. */
export function checkUnderstood(requires: Requirement): Misfit | null {
  const unknown = unknownNeeds(requires);
  return unknown.length === 0
    ? null
    : misfit(
        "REQUIREMENT_UNKNOWN",
        `its requirement has ${listSome(unknown, 3)}, which this imgmatch does not know: a newer one may have written it`,
        "update imgmatch, or correct it where it is written and publish again",
      );
}

function checkBuilt({ digest, local }: ImageToFit, { local: held }: FitOptions): Misfit | null {
  if (digest !== null || (local !== undefined && held?.has(local.id))) return null;
  const remedy = { kind: "build" } as const;
  if (local === undefined)
    return misfit("NOT_BUILT", "has no digest in the lock: it was never built", [
      { text: "run imgmatch build", remedy },
    ]);
  return held === undefined
    ? misfit("NOT_PUSHED", `was built and not pushed: only ${local.engine} has it, where it was built`, [
        { text: "push it (imgmatch build --push)", remedy },
        { text: "on that machine, ask with --local", remedy: null },
      ])
    : misfit("NOT_PUSHED", `was built and not pushed, and ${local.engine} on this machine does not have it`, [
        { text: "build it here (imgmatch build)", remedy },
      ]);
}

/** Nobody judges it, so that a word of the user alone chooses it. */
function checkAsked({ requires, axes }: ImageToFit, { pins }: FitOptions): Misfit | null {
  const { accelerator } = requires;
  if (accelerator == null) return null;
  const pin = pinTextOf(pins, "accel");
  // A pattern that it happens to match is no word for it.
  if (pin !== undefined && (pin === accelerator || pin === axes.accel)) return null;
  const { accel } = axes;
  return misfit("PIN_MISMATCH", `is for ${accelerator}, which nobody judges: no rule chooses it`, [
    accel === undefined
      ? { text: "take it by hand: it has no axis accel that could be pinned", remedy: null }
      : {
          text: `ask for it by its name: --pin accel=${accel}`,
          remedy: { kind: "pins", set: { accel }, drop: [] },
        },
  ]);
}

function checkKind(gpuCode: boolean, { cpuOnly, requireGpu }: FitOptions): Misfit | null {
  if (gpuCode && cpuOnly === true)
    return misfit("PIN_MISMATCH", "has GPU code, an image without is asked for (--cpu)", [
      { text: "leave --cpu out", remedy: { kind: "option", leaveOut: "cpuOnly" } },
    ]);
  if (gpuCode || requireGpu !== true) return null;
  return misfit("PIN_MISMATCH", "has no GPU code, an image with is asked for (--require-gpu)", [
    { text: "leave --require-gpu out", remedy: { kind: "option", leaveOut: "requireGpu" } },
  ]);
}

type Misfits = readonly [Misfit, ...Misfit[]];

/**
 * How the host's driver and GPUs serve the image, or all that is against it: one pass, so that what was refused can never be
 * read as a fit.
 */
function serveGpus(
  cuda: CudaRequirement,
  host: Pick<HostView, "nvidia" | "broken" | "others" | "runtime">,
): Omit<Fit, "builtFor"> | Misfits {
  const usable = checkGpuPresence(host);
  const require = checkNvidiaRequire(cuda, host);
  const last = require === null ? [] : [require];
  if (!usable.ok) return [usable, ...findDriverMisfits(cuda, host.nvidia), ...last];
  const service = checkDriver(cuda, usable.nvidia);
  const code = checkGpuCode(cuda, usable.nvidia.gpus, service.ok ? service : null);
  if (!service.ok) return [service, ...(isMisfit(code) ? [code] : []), ...last];
  if (isMisfit(code)) return [code, ...last];
  return require === null ? { ok: true, tier: service.tier, code } : [require];
}

function serveAmdGpus(
  rocm: RocmRequirement & { readonly compute: string | undefined },
  host: Pick<HostView, "amd" | "broken" | "others">,
  options: FitOptions,
): Omit<Fit, "builtFor"> | Misfits {
  const usable = checkAmdPresence(host);
  if (!usable.ok) return [usable];
  const code = checkAmdCode({ ...rocm, xnack: wantsXnack(options) }, usable.amd.gpus);
  return isMisfit(code) ? [code] : { ok: true, tier: "native", code };
}

/** Without a usable GPU the presence rule has spoken; this adds what else would be wrong. */
function findDriverMisfits(cuda: CudaRequirement, nvidia: NvidiaView | null): readonly Misfit[] {
  if (nvidia === null) return [];
  const service = nvidia.driver === null ? null : checkDriver(cuda, nvidia);
  const code = checkGpuCode(cuda, nvidia.gpus, service?.ok === true ? service : null);
  return [...(service === null || service.ok ? [] : [service]), ...(isMisfit(code) ? [code] : [])];
}

function isMisfit(code: readonly CodeFit[] | Misfit): code is Misfit {
  return "ok" in code;
}
