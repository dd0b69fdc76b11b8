/** The verdict on one image: the rules, in the order in which a person would ask them. */

import type { HostFacts } from "../host/facts.ts";
import type { CudaRequirement, LockedImage } from "../lock/lock.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { builtFor } from "./built-for.ts";
import { describeMeasured } from "./describe-measured.ts";
import type { FindCells } from "./existing-cells.ts";
import { type HostView, type NvidiaView, viewHost } from "./host-view.ts";
import { misfit } from "./misfit.ts";
import { wantsCpu } from "./options.ts";
import { checkPins, type Pins } from "./pins.ts";
import { checkBrokenHost } from "./rules/broken-host.ts";
import { checkCpu } from "./rules/cpu.ts";
import { checkDriver } from "./rules/driver.ts";
import { checkGpuCode } from "./rules/gpu-code.ts";
import { checkGpuPresence } from "./rules/gpu-presence.ts";
import { checkKernel } from "./rules/kernel.ts";
import { checkNvidiaRequire } from "./rules/nvidia-require.ts";
import { checkPlatform } from "./rules/platform.ts";
import type { CodeFit, Fit, Misfit, Verdict } from "./verdict.ts";
import { type Trial, tryCures } from "./working-fix.ts";

/** What of a locked image the rules ask. */
export type JudgedImage = Pick<
  LockedImage,
  "platform" | "requires" | "measured" | "adopted" | "digest" | "local" | "axes"
>;

export interface JudgeOptions {
  readonly pins?: Pins;
  /** The user asks for an image without GPU code, also on a broken host. */
  readonly cpuOnly?: boolean;
  /** The user asks for an image with GPU code, and for none where none fits. */
  readonly requireGpu?: boolean;
  /** As {@link ResolveOptions}. */
  readonly local?: ReadonlySet<string>;
  /** What the lock has besides, so that no fix proposes to add it. */
  readonly existing?: FindCells;
}

/**
 * Whether this image runs on this host, and if not, the first reason why.
 *
 * @example
 * const verdict = judgeImage(lock.images[cell], facts);
 * if (!verdict.ok) console.error(`${verdict.code}: ${verdict.message} (${verdict.fix})`);
 */
export function judgeImage(image: JudgedImage, host: HostFacts, options: JudgeOptions = {}): Verdict {
  return judgeView(image, viewHost(host), options);
}

/** {@link judgeImage} for a host that was read once for many images. */
export function judgeView(image: JudgedImage, host: HostView, options: JudgeOptions = {}): Verdict {
  for (const rule of rules) {
    const found = rule(image, host, options);
    if (found !== null) return tryCures(found, image, host, trial, options.existing);
  }
  const built = builtFor(image, host.features ?? new Set());
  if (image.requires.cuda === null) return { ok: true, tier: "native", code: [], builtFor: built };
  const served = serveGpus(image.requires.cuda, host);
  return "ok" in served
    ? { ...served, builtFor: built }
    : tryCures(served[0], image, host, trial, options.existing);
}

/** Every reason why an image does not fit, in the order of the rules; empty when it fits. */
export function findMisfits(
  image: JudgedImage,
  host: HostView,
  options: JudgeOptions = {},
): readonly Misfit[] {
  return untried(image, host, options).map((found) => tryCures(found, image, host, trial, options.existing));
}

function untried(image: JudgedImage, host: HostView, options: JudgeOptions): readonly Misfit[] {
  const found = rules.map((rule) => rule(image, host, options)).filter((each) => each !== null);
  const served = image.requires.cuda === null ? null : serveGpus(image.requires.cuda, host);
  return served === null || "ok" in served ? found : [...found, ...served];
}

/** Of hardware alone: whether it is built and asked for is another matter. */
const trial: Trial = (image, host) =>
  new Set(untried({ ...image, digest: triedDigest }, host, {}).map(({ code }) => code));

const triedDigest = `sha256:${"0".repeat(64)}` as const;

type Rule = (image: JudgedImage, host: HostView, options: JudgeOptions) => Misfit | null;

/** What no host changes: a user's own wish, and whether the image is there. */
const hostless = [
  ({ axes }, { pins }) => (pins === undefined ? null : checkPins(axes, pins)),
  ({ requires }, options) => checkKind(requires.cuda !== null, options),
  checkBuilt,
] as const satisfies readonly ((image: JudgedImage, options: JudgeOptions) => Misfit | null)[];

/** Whether some host could get this image as the answer. */
export function isEligible(image: JudgedImage, options: JudgeOptions): boolean {
  return hostless.every((rule) => rule(image, options) === null);
}

/** A user's own wish comes first, then what no repair changes, then the host's health, then the numbers; the GPUs come last. */
const rules: readonly Rule[] = [
  ...hostless.map(
    (rule): Rule =>
      (image, _host, options) =>
        rule(image, options),
  ),
  ({ platform }, host) => checkPlatform(platform, host),
  ({ requires }, host, options) => checkBrokenHost(requires.cuda !== null, wantsCpu(options), host),
  // Features of another architecture are no lack of this CPU.
  (image, host) =>
    sameArchitecture(image.platform, host)
      ? checkCpu(neededRequirement(image).cpu, host, {
          measured: () => describeMeasured(image),
          adopted: image.adopted,
        })
      : null,
  ({ requires }, host) => checkKernel(requires.kernel, host),
];

function sameArchitecture(platform: string, host: HostView): boolean {
  return platform.split("/")[1] === host.platform.split("/")[1];
}

function checkBuilt({ digest, local }: JudgedImage, { local: held }: JudgeOptions): Misfit | null {
  if (digest !== null || (local !== undefined && held?.has(local.id))) return null;
  const remedy = { kind: "build" } as const;
  if (local === undefined)
    return misfit("NOT_BUILT", "has no digest in the lock: it was never built", [
      { text: "run imgmatch build", remedy },
    ]);
  return held === undefined
    ? misfit("NOT_BUILT", `was built and not pushed: only ${local.engine} has it, where it was built`, [
        { text: "push it (imgmatch build --push)", remedy },
        { text: "on that machine, ask with --local", remedy: null },
      ])
    : misfit("NOT_BUILT", `was built and not pushed, and ${local.engine} on this machine does not have it`, [
        { text: "build it here (imgmatch build)", remedy },
      ]);
}

function checkKind(gpuCode: boolean, { cpuOnly, requireGpu }: JudgeOptions): Misfit | null {
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
function serveGpus(cuda: CudaRequirement, host: HostView): Omit<Fit, "builtFor"> | Misfits {
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
