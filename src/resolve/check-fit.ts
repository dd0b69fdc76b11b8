/** Judges one image on one host: asks the rules, in the order in which a person would. */

import { noDigest } from "../oci/digest.ts";
import type { HostFacts } from "../facts/facts.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import { sidesOf, vendorsOf } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { InternalError } from "../errors.ts";
import { printable } from "../printable.ts";
import { builtForRule } from "./rules/cpu-share.ts";
import { type HostView, viewHost } from "./host-view.ts";
import { withCures } from "./misfit.ts";
import { compareKeys, type SortKey } from "./order-steps.ts";
import { orderBy, sortCandidates } from "./rank.ts";
import type { FitOptions } from "./resolve-options.ts";
import { amdRule } from "./rules/amd/amd-gpus.ts";
import { brokenHostRule } from "./rules/broken-host.ts";
import { cpuRule } from "./rules/cpu-instructions.ts";
import { imageRules } from "./rules/image-rules.ts";
import { nvidiaRule } from "./rules/nvidia/nvidia-gpus.ts";
import { kernelRule, platformRule } from "./rules/platform.ts";
import type { ImageToFit, MisfitRule, Rule } from "./rules/rule.ts";
import { unknownFactsRule } from "./rules/unknown-facts.ts";
import {
  effortOf,
  type GpuFit,
  type Misfit,
  type Misfits,
  type ReasonCode,
  type Verdict,
} from "./verdict.ts";
import type { Trial } from "./trial.ts";
import { workingCures } from "./working-fix.ts";

/**
 * Asked after the image rules. First what no repair changes, then the host's health, then the numbers. The rules of the GPUs come last: see
 * {@link askGpus}.
 */
const hostRules: readonly MisfitRule[] = [
  platformRule,
  brokenHostRule,
  unknownFactsRule,
  cpuRule,
  kernelRule,
];

/** Asks a rule about an image and a host, or knows its answer. The options are the same each time. */
export type AskRule = <Image, Asked extends keyof HostView, Answer>(
  rule: Rule<Image, Asked, Answer>,
  image: ImageToFit,
  host: HostView,
  options: FitOptions,
) => Answer;

export const askWithoutCache: AskRule = (rule, image, host, options) =>
  rule.answer(rule.image(image), host, options);

/** Answers with the fit of an image on a host, or with the first reason against the image. */
export function checkFit(image: ImageToFit, host: HostFacts, options: FitOptions = {}): Verdict {
  const view = viewHost(host);
  const verdict = checkFitBy(askWithoutCache, image, view, options);
  return verdict.ok ? verdict : withWorkingCures(verdict, image, view, options);
}

/**
 * As `checkFit`, but the cures that it proposes are not tried. If the image carries several variants of GPU or CPU code, each is judged as an
 * image of its own: the best that fits counts, and if none fits, the nearest.
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
  for (const rule of imageRules) {
    const found = rule(image, options);
    if (found !== null) return found;
  }
  for (const rule of hostRules) {
    const found = ask(rule, image, host, options);
    if (found !== null) return found;
  }
  const gpuAnswer = askGpus(ask, image, host, options);
  if (gpuAnswer !== null && !("ok" in gpuAnswer)) return gpuAnswer[0];
  const builtFor = ask(builtForRule, image, host, options);
  return { ...(gpuAnswer ?? { ok: true, tier: "native", code: [] }), builtFor };
}

type GpuRule = Rule<unknown, keyof HostView, GpuFit | Misfits | null>;

const gpuRules: Readonly<Record<GpuVendor, GpuRule>> = { nvidia: nvidiaRule, amd: amdRule };

/** An image with code for several vendors has alternatives, here one alternative: it has code for one vendor at most. */
function askGpus(ask: AskRule, image: ImageToFit, host: HostView, options: FitOptions) {
  const [vendor] = vendorsOf(image.requires);
  return vendor === undefined ? null : ask(gpuRules[vendor], image, host, options);
}

/** Answers with every reason against an image, in the order of the rules; empty when it fits. */
export function findMisfits(image: ImageToFit, host: HostView, options: FitOptions = {}): readonly Misfit[] {
  return findMisfitsBy(askWithoutCache, image, host, options).map((found) =>
    withWorkingCures(found, image, host, options),
  );
}

/** The same without a trial of the cures. */
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
    (best, other) => (compareKeys(distanceOf(other), distanceOf(best)) < 0 ? other : best),
    first,
  );
  return nearest.misfits.map((found) => namedAfter(found, nearest.one));
}

function misfitsOfOne(
  ask: AskRule,
  image: ImageToFit,
  host: HostView,
  options: FitOptions,
): readonly Misfit[] {
  const served = askGpus(ask, image, host, options);
  return [
    ...imageRules.flatMap((rule) => rule(image, options) ?? []),
    ...hostRules.flatMap((rule) => ask(rule, image, host, options) ?? []),
    ...(served === null || "ok" in served ? [] : served),
  ];
}

/** Between equals the order of vendors decides, then the order of reasons: the order of an image's list never matters. */
function distanceOf({ one, misfits }: { one: ImageToFit; misfits: readonly Misfit[] }): SortKey {
  const [first = gpuVendors[0]] = vendorsOf(one.requires);
  const vendor = gpuVendors.indexOf(first);
  return [...effortOf(misfits), vendor, misfits.map(({ code, message }) => `${code} ${message}`).join()];
}

/** Names the alternative that the numbers of a message are of. */
function namedAfter(found: Misfit, { requires }: ImageToFit): Misfit {
  const [gpu] = sidesOf(requires);
  const ofCpu = found.code === "CPU_FEATURES_MISSING";
  const name = ofCpu ? requires.cpu.by : ofGpus.has(found.code) ? gpu?.needs.by : undefined;
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

/** The same misfit with cures that work. They are tried when somebody reads them: most answers are read for their match. */
export function withWorkingCures(
  found: Misfit,
  image: ImageToFit,
  host: HostView,
  { existing, local }: FitOptions,
): Misfit {
  return withCures(found, () => workingCures(found, { image, host, trial, existing, local }));
}

/** Only hardware decides: whether the image is built and asked for is another matter. */
const trial: Trial = (image, host) =>
  new Set(findMisfitsBy(askWithoutCache, { ...image, digest: noDigest }, host, {}).map(({ code }) => code));

/** Some host could get this image as the answer. */
export function isEligible(image: ImageToFit, options: FitOptions): boolean {
  return imageRules.every((rule) => rule(image, options) === null);
}
