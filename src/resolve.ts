/**
 * `imgmatch/resolve`: the pure parts, for programs that embed the rules: facts, locks, verdicts. Only `readLock` reads a file.
 *
 * @packageDocumentation
 */

export { describeHardware } from "./node/tables/describe-hardware.ts";
export { parseHostFacts } from "./facts/parse-facts.ts";
export { readLock } from "./lock/store/lock-file.ts";
export { parseLock } from "./lock/parse-lock.ts";
export { checkFit } from "./resolve/check-fit.ts";
export { explainResolution } from "./node/explain.ts";
export { resolveImage } from "./resolve/resolve-image.ts";

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
export type { Axes, ExistingCell, FindCells } from "./resolve/find-cell.ts";
export type { OrderStep, OrderedCandidate as Placed, SortKey } from "./resolve/order-steps.ts";
export type { Pin, Pins } from "./resolve/pins.ts";
export type { FitOptions, ResolveImageOptions } from "./resolve/resolve-options.ts";
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
