/**
 * `imgmatch/resolve`: the pure parts, for programs that embed the rules: facts, locks, verdicts. Only `readLock` reads a file.
 *
 * @packageDocumentation
 */

import type { HostFacts } from "./facts/facts.ts";
import { requireOptions } from "./io/checked-options.ts";
import type { Lock } from "./lock/lock.ts";
import { explainResolution as explainUnchecked } from "./node/explain.ts";
import { checkFit as checkUnchecked } from "./resolve/check-fit.ts";
import { plainPins } from "./resolve/pins.ts";
import { orderBy } from "./resolve/rank.ts";
import { resolveImage as resolveUnchecked } from "./resolve/resolve-image.ts";
import type { ResolveImageOptions } from "./resolve/resolve-options.ts";
import type { ImageToFit } from "./resolve/rules/rule.ts";
import type { Resolution, Verdict } from "./resolve/verdict.ts";

export { describeHardware } from "./node/tables/describe-hardware.ts";
export { parseHostFacts } from "./facts/parse-facts.ts";
export { readLock } from "./lock/store/lock-file.ts";
export { parseLock } from "./lock/parse-lock.ts";

/**
 * Answers with the fit of an image on a host, or with the first reason against the image. Of an image that carries several variants, the best
 * that fits counts.
 * Throws `USAGE` for an option that is not there or of another kind, for a range among the pins, and for an unknown preference.
 *
 * @example
 * const verdict = checkFit(lock.images[cell], facts);
 * if (!verdict.ok) console.error(`${verdict.code}: ${verdict.message} (${verdict.fix})`);
 */
export function checkFit(image: ImageToFit, host: HostFacts, options: ResolveImageOptions = {}): Verdict {
  requireOptions("checkFit", options);
  const { pins = {}, prefer, ...wishes } = options;
  return checkUnchecked(image, host, { ...wishes, pins: plainPins(pins), order: orderBy(prefer) });
}

/**
 * Picks the one image that fits the host best.
 * Throws `PIN_UNKNOWN` for a pin on an axis that no image has, `USAGE` as {@link checkFit} does, and for two kinds at once.
 *
 * @example
 * const { match, rejected } = resolveImage(lock, facts, { pins: { tensorflow: "1.12.0" } });
 * console.log(match?.reference ?? rejected);
 */
export function resolveImage(lock: Lock, host: HostFacts, options: ResolveImageOptions = {}): Resolution {
  requireOptions("resolveImage", options);
  return resolveUnchecked(lock, host, options);
}

/**
 * Lines for `resolve --explain`, without colour. Images that fail for the same reasons share an entry, so that a lock of
 * thousands stays readable. Throws as {@link resolveImage} does.
 *
 * @example
 * for (const line of explainResolution(lock, facts)) process.stderr.write(`${line}\n`);
 */
export function explainResolution(lock: Lock, host: HostFacts, options: ResolveImageOptions = {}): string[] {
  requireOptions("explainResolution", options);
  return explainUnchecked(lock, host, options);
}

// The types that these are made of
export type { Place, Problem } from "./errors.ts";
export type { HardwareKind, HardwareReport } from "./node/tables/describe-hardware.ts";
export type { GpuClass } from "./hardware/gpu-class.ts";
export type { ReportRow, ReportTable } from "./node/tables/report-table.ts";
export type {
  CpuRequirement,
  CudaRequirement,
  DriverRequirement,
  Measured,
  Requirement,
} from "./lock/requirement.ts";
export type { SourceKey } from "./hardware/sources.ts";
export type {
  AmdFacts,
  AmdGpuFacts,
  CpuFacts,
  DriverScale,
  GpuFacts,
  HostFacts,
  HostProblem,
  MigInstance,
  NvidiaFacts,
} from "./facts/facts.ts";
export type {
  LocalEngine,
  Lock,
  LockedAdoption,
  LockedAttestation,
  LockedBase,
  LockedChannel,
  LockedImage,
  LockedInputs,
  LockedLocal,
  LockedManifest,
} from "./lock/lock.ts";
export type { Digest } from "./oci/digest.ts";
export type { ImmutableReference } from "./oci/immutable-reference.ts";
export type { StoredBlobs } from "./lock/lock.ts";
export type { ProblemCode } from "./problem-codes.ts";
export type { Pin } from "./resolve/pins.ts";
export type { ResolveImageOptions } from "./resolve/resolve-options.ts";
export type { ImageToFit } from "./resolve/rules/rule.ts";
export type {
  CodeFit,
  CpuShare,
  Cure,
  Fit,
  Match,
  Misfit,
  OpenAxis,
  ReasonCode,
  Rejection,
  Remedy,
  Resolution,
  Tier,
  UnusedGpus,
  Verdict,
} from "./resolve/verdict.ts";
