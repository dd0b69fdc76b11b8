/**
 * `imgmatch/resolve`: the pure parts, for programs that embed the rules: facts, locks, verdicts. Nothing here asks a registry, and only
 * `probeHost` and `readHostFiles` read this machine.
 *
 * @packageDocumentation
 */

// Facts of hosts
export { formatHostFacts } from "./host/format-facts.ts";
export { nodeHostIo } from "./host/node-host-io.ts";
export { parseHostFacts } from "./host/parse-facts.ts";
export { probeHost } from "./host/probe-host.ts";
export { readHost } from "./host/read-host.ts";
export { readHostFiles } from "./host/read-host-files.ts";
export { readHosts } from "./host/read-hosts.ts";

// Locks
export { formatLock } from "./lock/format-lock.ts";
export { lockPath, lockSchemaVersion } from "./lock/lock.ts";
export { readLock, readLockIfPresent } from "./lock/lock-file.ts";
export { parseLock } from "./lock/parse-lock.ts";
export { updateLock, writeLock } from "./lock/update-lock.ts";

// Verdicts
export { checkFit } from "./resolve/check-fit.ts";
export { checkImage } from "./resolve/check-image.ts";
export { explainResolution } from "./resolve/explain.ts";
export { compilePins } from "./resolve/pins.ts";
export { rankImages, resolveImage } from "./resolve/resolve-image.ts";
export { createResolver } from "./resolve/resolver.ts";
export { whyNotImage } from "./resolve/why-not-image.ts";

// Facts of hardware
export { parseComputeCapability } from "./hardware/compute-capability.ts";
export { findMarch, marchFeatures } from "./hardware/cpu-marches.ts";
export { driverFloor, findToolkit, supportedTargets } from "./hardware/cuda-toolkits.ts";
export { describeHardware } from "./hardware/describe-hardware.ts";
export { compareDriverVersions, parseDriverVersion } from "./hardware/driver-version.ts";
export { classifyGpu } from "./hardware/gpu-class.ts";
export { findGpuByPci } from "./hardware/gpu-products.ts";
export { parseGpuTarget, targetRunsOn } from "./hardware/gpu-target.ts";
export { hardwareSources } from "./hardware/sources.ts";

// The types that these are made of
export type { Place, Problem } from "./errors.ts";
export type { ProblemCode } from "./problem-codes.ts";
export type { ComputeCapability } from "./hardware/compute-capability.ts";
export type { CpuArchitecture, March } from "./hardware/cpu-marches.ts";
export type { CudaToolkit, SupportedTargets, ToolkitRow } from "./hardware/cuda-toolkits.ts";
export type { HardwareKind, HardwareReport } from "./hardware/describe-hardware.ts";
export type { ReportRow, ReportTable } from "./hardware/report-table.ts";
export type { DriverVersion, VersionParts } from "./hardware/driver-version.ts";
export type { GpuClass } from "./hardware/gpu-class.ts";
export type { GpuProduct } from "./hardware/gpu-products.ts";
export type { GpuTarget } from "./hardware/gpu-target.ts";
export type {
  CpuRequirement,
  CudaRequirement,
  DriverRequirement,
  Measured,
  Requirement,
} from "./hardware/requirement.ts";
export type { SourceKey } from "./hardware/sources.ts";
export type { ToldOfHost } from "./host/complete-hosts.ts";
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
} from "./host/facts.ts";
export type { CommandResult, Denied, HostIo, Inventory, RunLimits } from "./host/host-io.ts";
export type { NvmlAnswer, NvmlDevice, NvmlReading } from "./host/nvidia/nvml-reading.ts";
export type { ProbeOptions } from "./host/probe-host.ts";
export type { MoreHosts } from "./host/read-host-files.ts";
export type { NamedHost } from "./host/read-hosts.ts";
export type { EndedProgram } from "./io/run-program.ts";
export type {
  LocalEngine,
  Lock,
  LockedAdoption,
  LockedAttestation,
  LockedBase,
  LockedImage,
  LockedInputs,
  LockedLocal,
  LockedManifest,
} from "./lock/lock.ts";
export type { UpdateLockOptions } from "./lock/update-lock.ts";
export type { Digest } from "./oci/digest.ts";
export type { ImmutableReference } from "./oci/immutable-reference.ts";
export type { StoredBlobs } from "./oci/registry/stored-blobs.ts";
export type { DescribedImage, ImageCheck } from "./resolve/check-image.ts";
export type { Axes, ExistingCell, FindCells } from "./resolve/find-cell.ts";
export type { Miss } from "./resolve/nearest.ts";
export type { Candidate, OrderStep, Placed, SortKey } from "./resolve/order-steps.ts";
export type { Pin, Pins } from "./resolve/pins.ts";
export type { Ranking } from "./resolve/resolve-image.ts";
export type { FitOptions, ResolveImageOptions } from "./resolve/resolve-options.ts";
export type { Resolver } from "./resolve/resolver.ts";
export type { ImageToFit } from "./resolve/rules/rule.ts";
export type { RankedImages } from "./resolve/unasked.ts";
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
export type { Rank, Victor, WhyNot } from "./resolve/why-not-image.ts";
