/** The types that `imgmatch` and `imgmatch/parts` share. */

export type { CoverChange } from "./cover/compare-covers.ts";
export type {
  ClassDescription,
  ClassMatch,
  Cover,
  CoverCounts,
  CoveredClass,
  NearMiss,
} from "./cover/cover-classes.ts";
export type { CoverFleet } from "./cover/cover-fleet.ts";
export type { CoverReport } from "./cover/cover-report.ts";
export type { EstimatedCost, Figures, FleetCost } from "./cover/fleet-cost.ts";
export type { CoveredImage } from "./cover/image-use.ts";
export type { CpuDistance } from "./cover/native-distance.ts";
export type { Violation } from "./cover/policies.ts";
export type { PullPlan, PullStep } from "./cover/pull-plan.ts";
export type { SuggestedCell, Suggestion } from "./cover/suggestion.ts";
export type { Place, Problem } from "./errors.ts";
export type { ProblemCode } from "./problem-codes.ts";
export type { Cell } from "./fleet/cells/cell.ts";
export type { RenderedFile } from "./fleet/dockerfile/render-cell.ts";
export type {
  AccelValue,
  Bases,
  Compiler,
  ComputeValue,
  FreeValue,
  MarchValue,
  Value,
} from "./fleet/matrix/matrix.ts";
export type { PlanCellJson, PlanJson } from "./fleet/plan/plan-json.ts";
export type {
  Action,
  InputComparison,
  InputName,
  MovedBase,
  PlannedBase,
  PlannedCell,
  PlannedParent,
} from "./fleet/plan/planned-cell.ts";
export type { PublishedIndex } from "./fleet/publish/publish-index.ts";
export type { ComputeCapability } from "./hardware/compute-capability.ts";
export type { CpuArchitecture, March } from "./hardware/cpu-marches.ts";
export type { CudaToolkit, ToolkitRow } from "./hardware/cuda-toolkits.ts";
export type { GpuClass } from "./hardware/gpu-class.ts";
export type { GpuTarget } from "./hardware/gpu-target.ts";
export type {
  CpuRequirement,
  CudaRequirement,
  DriverRequirement,
  Measured,
  Requirement,
} from "./hardware/requirement.ts";
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
} from "./host/facts.ts";
export type { NativeImage } from "./lock/format-fleet-index.ts";
export type { SignedBy } from "./lock/index-trust.ts";
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
export type { AmdUnit, GpuUnit, NvidiaUnit } from "./node/launch/gpu-units.ts";
export type { NodeLabels } from "./node/launch/labels/node-labels.ts";
export type {
  DeviceAccess,
  Json,
  LaunchCommand,
  LaunchFormat,
  LaunchRequest,
  Mount,
  NodeLabel,
  Task,
} from "./node/launch/target.ts";
export type { Digest } from "./oci/digest.ts";
export type { ImmutableReference } from "./oci/immutable-reference.ts";
export type { StoredBlobs } from "./oci/registry/stored-blobs.ts";
export type {
  CodeFit,
  Match,
  OpenAxis,
  ReasonCode,
  Rejection,
  Resolution,
  Tier,
  UnusedGpus,
} from "./resolve/verdict.ts";
export type { AttestedBase, AttestedBuild, PurlImage } from "./trust/provenance/attested-build.ts";
export type { ClaimComparison, ClaimDifference } from "./trust/provenance/compare-claims.ts";
export type { CountedStatement } from "./trust/provenance/count-statements.ts";
export type { ImageProvenance, ProvenanceVerification } from "./trust/provenance/verify-provenance.ts";
