/**
 * imgmatch as a library: a function for each command, with its name. The options are the command's flags in camel case, besides `signal` and
 * `onEvent`. A function returns the object that `--json` prints, and throws `ImgmatchError`.
 *
 * @example
 * import { build, resolve } from "imgmatch";
 *
 * await build({ push: true });
 * const { reference } = await resolve();
 *
 * @packageDocumentation
 */

import { coverWith } from "./cover/cover.ts";
import { planAgainstWith } from "./cover/plan-against.ts";
import { adoptWith } from "./fleet/adopt.ts";
import { auditWith } from "./fleet/audit.ts";
import { buildWith } from "./fleet/build.ts";
import { exportBakeWith } from "./fleet/export-bake.ts";
import { exportGuardWith } from "./fleet/export-guard.ts";
import { exportGithubMatrixWith } from "./fleet/export-github-matrix.ts";
import { initWith } from "./fleet/init.ts";
import {
  mergeLocks as mergeLocksUnchecked,
  pruneLockWith,
  removeFromLock as removeFromLockUnchecked,
  updateBasesWith,
  type MergeLocksFunction,
  type RemoveFromLockFunction,
} from "./fleet/lock.ts";
import { planWith } from "./fleet/plan.ts";
import { promoteWith } from "./fleet/promote.ts";
import { publishWith } from "./fleet/publish.ts";
import { renderWith } from "./fleet/render.ts";
import { verifyWith } from "./fleet/verify.ts";
import { probeWith } from "./host/probe.ts";
import { checkWith } from "./node/check.ts";
import { exportShWith } from "./node/export-sh.ts";
import { labelsWith } from "./node/labels.ts";
import { launchWith } from "./node/launch.ts";
import { pullWith } from "./node/pull.ts";
import { resolveWith } from "./node/resolve.ts";
import { runWith } from "./node/run.ts";
import { serveWith } from "./node/serve.ts";
import { whyNotWith } from "./node/why-not.ts";
import { checked } from "./io/checked-options.ts";
import { inspect as inspectUnchecked, type InspectFunction } from "./inspect/inspect-subjects.ts";
import { hardware as hardwareUnchecked, type HardwareFunction } from "./node/tables/hardware.ts";
import { doctor as doctorUnchecked, type DoctorFunction } from "./node/doctor.ts";
import {
  exportNfdCompat as exportNfdCompatUnchecked,
  type ExportNfdCompatFunction,
} from "./node/export-nfd-compat.ts";
import { prove as proveUnchecked, type ProveFunction } from "./node/prove.ts";
import { prune as pruneUnchecked, type PruneFunction } from "./fleet/prune.ts";
import { ports } from "./ports.ts";

export { ImgmatchError } from "./errors.ts";

// A team builds
export const adopt = checked("adopt", adoptWith(ports));
export const audit = checked("audit", auditWith(ports));
export const build = checked("build", buildWith(ports));
export const mergeLocks: MergeLocksFunction = checked("mergeLocks", mergeLocksUnchecked);
export const removeFromLock: RemoveFromLockFunction = checked("removeFromLock", removeFromLockUnchecked);
export const pruneLock = checked("pruneLock", pruneLockWith(ports));
export const updateBases = checked("updateBases", updateBasesWith(ports));
export const exportBake = checked("exportBake", exportBakeWith(ports));
export const exportGuard = checked("exportGuard", exportGuardWith(ports));
export const exportGithubMatrix = checked("exportGithubMatrix", exportGithubMatrixWith(ports));
export const init = checked("init", initWith(ports));
export { matrixJsonSchema } from "./fleet/matrix/json-schema.ts";
export const plan = checked("plan", planWith(ports));
export const prune: PruneFunction = checked("prune", pruneUnchecked);
export const publish = checked("publish", publishWith(ports));
export const render = checked("render", renderWith(ports));
export const verify = checked("verify", verifyWith(ports));
export const promote = checked("promote", promoteWith(ports));
export const inspect: InspectFunction = checked("inspect", inspectUnchecked);

// A node asks
export const hardware: HardwareFunction = checked("hardware", hardwareUnchecked);
export const probe = checked("probe", probeWith(ports));
export const check = checked("check", checkWith(ports));
export const doctor: DoctorFunction = checked("doctor", doctorUnchecked);
export const exportNfdCompat: ExportNfdCompatFunction = checked("exportNfdCompat", exportNfdCompatUnchecked);
export const exportSh = checked("exportSh", exportShWith(ports));
export const labels = checked("labels", labelsWith(ports));
export const launch = checked("launch", launchWith(ports));
export const prove: ProveFunction = checked("prove", proveUnchecked);
export const pull = checked("pull", pullWith(ports));
export const resolve = checked("resolve", resolveWith(ports));
export const run = checked("run", runWith(ports));
export const serve = checked("serve", serveWith(ports));
export const whyNot = checked("whyNot", whyNotWith(ports));

// Many hosts
export const cover = checked("cover", coverWith(ports));
export const planAgainst = checked("planAgainst", planAgainstWith(ports));

// The types that these are made of
export type * from "./inspect.ts";
export type * from "./resolve.ts";
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
export type { CoverFunction, CoverOptions } from "./cover/cover.ts";
export type { PlanAgainstFunction, PlanAgainstOptions } from "./cover/plan-against.ts";
export type { EstimatedCost, Figures, FleetCost } from "./cover/fleet-cost.ts";
export type { CoveredImage, NearHost, Reason } from "./cover/image-use.ts";
export type { CpuDistance } from "./cover/native-distance.ts";
export type { Checked, Violation } from "./cover/policies.ts";
export type { PullPlan, PullStep } from "./cover/pull-plan.ts";
export type { SuggestedCell, Suggestion } from "./cover/suggestion.ts";
export type { AdoptAnswer, AdoptEvent, AdoptFunction, AdoptOptions, Adoption } from "./fleet/adopt.ts";
export type { AuditAnswer, AuditEvent, AuditFunction, AuditOptions, AuditedCell } from "./fleet/audit.ts";
export type { BuildFunction, BuildOptions } from "./fleet/build.ts";
export type { BuildChoice } from "./fleet/build-choice.ts";
export type {
  BuildEvent,
  BuildSummary,
  BuiltCell,
  CellResult,
  FailedCell,
  InterruptedCell,
} from "./fleet/engines/built-cell.ts";
export type { BuiltImage } from "./oci/engine/built-image.ts";
export type { EngineChoice } from "./fleet/engines/engine-choice.ts";
export type { EngineName } from "./fleet/engines/engine-traits.ts";
export type { Drift } from "./fleet/dockerfile/drift.ts";
export type { BakeFile, BakeTarget, ExportBakeFunction, ExportBakeOptions } from "./fleet/export-bake.ts";
export type { ExportGuardAnswer, ExportGuardFunction, ExportGuardOptions } from "./fleet/export-guard.ts";
export type {
  ExportGithubMatrixFunction,
  GithubMatrix,
  GithubMatrixOptions,
  Machine,
  Shard,
} from "./fleet/export-github-matrix.ts";
export type {
  InitAnswer,
  InitFromAnswer,
  InitFromDefinitionAnswer,
  InitFunction,
  InitOptions,
} from "./fleet/init.ts";
export type { ComparedBuild, Difference } from "./fleet/init/compare-builds.ts";
export type { Edit } from "./fleet/init/draft.ts";
export type { InitFromDefinition } from "./fleet/init/init-from-definition.ts";
export type { InitFrom } from "./fleet/init/init-from.ts";
export type {
  ChangeLockOptions,
  MergeLocksAnswer,
  MergeLocksFunction,
  MergeLocksOptions,
  PruneLockFunction,
  RemoveFromLockAnswer,
  RemoveFromLockFunction,
  RemoveFromLockOptions,
  RemovedImages,
  UpdateBasesAnswer,
  UpdateBasesFunction,
} from "./fleet/lock.ts";
export type { FleetChoice } from "./fleet/open/fleet-choice.ts";
export type { LocalBaseChoice } from "./fleet/open/prepare-build.ts";
export type { ExplainedPlan, PlanFunction, PlanOptions } from "./fleet/plan.ts";
export type { PruneAnswer, PruneFunction, PruneOptions, PrunedImage } from "./fleet/prune.ts";
export type { ExplainedCell, PlanCellJson, PlanJson } from "./fleet/plan/plan-json.ts";
export type {
  Action,
  InputComparison,
  InputName,
  MovedBase,
  PlannedBase,
  PlannedParent,
} from "./fleet/plan/planned-cell.ts";
export type { BaseUpdate } from "./fleet/plan/registry-view.ts";
export type { PromoteFunction, PromoteOptions, Promotion } from "./fleet/promote.ts";
export type { PublishFunction, PublishOptions } from "./fleet/publish.ts";
export type { SignerChoice } from "./oci/trust-flags.ts";
export type {
  ChannelEvent,
  IndexEvent,
  PromotionEvent,
  Publication,
  PublicationEvent,
  SignaturesEvent,
} from "./fleet/publish/publication.ts";
export type { PublishedIndex } from "./fleet/publish/publish-index.ts";
export type { Sweep } from "./fleet/publish/sweep.ts";
export type {
  ChannelDrift,
  IndexVerification,
  LookEvent,
  RegistryDrift,
  Verification,
} from "./fleet/publish/verify-lock.ts";
export type { SignedLock } from "./fleet/publish/verify-signed.ts";
export type { RenderAnswer, RenderCheck, RenderFunction, RenderOptions } from "./fleet/render.ts";
export type { BuildAnswer, FleetBuildEvent, SummaryEvent } from "./fleet/run/build-events.ts";
export type { VerifyAnswer, VerifyFunction, VerifyOptions } from "./fleet/verify.ts";
export type { HardwareFunction, HardwareOptions } from "./node/tables/hardware.ts";
export type { ToldOfHost } from "./host/complete-hosts.ts";
export type { CudaResult } from "./host/nvidia/cuda-koffi.ts";
export type { DriverQuestion, HostChoice, ProbeFunction } from "./host/probe.ts";
export type { ManyHosts, MoreHosts } from "./host/read-host-files.ts";
export type { Statement } from "./lock/statement.ts";
export type { FoundImage } from "./inspect/find-image.ts";
export type { ModuleFacts } from "./inspect/nvidia/loadable-modules.ts";
export type { ShownImage } from "./lock/fleet-index.ts";
export type { SignedBy } from "./lock/store/index-trust.ts";
export type { CheckFunction, CheckOptions, HostCheck, ManyCheckOptions } from "./node/check.ts";
export type { Comparison, OutcomeChange } from "./node/compare-outcomes.ts";
export type { CheckAnswer, CheckReason, PackageAnswer, PartAnswer } from "./node/check-answer.ts";
export type { Finding, FindingState } from "./node/diagnose.ts";
export type { DoctorAnswer, DoctorFunction, DoctorOptions } from "./node/doctor.ts";
export type {
  ExportNfdCompatFunction,
  NfdCompatAnswer,
  NfdCompatOptions,
  NfdCompatSpecs,
} from "./node/export-nfd-compat.ts";
export type { ExportShAnswer, ExportShFunction, ExportShOptions } from "./node/export-sh.ts";
export type { ModuleVerdict } from "./node/judge-module.ts";
export type {
  HostLabels,
  HostLabelsAnswer,
  LabelsFunction,
  LabelsOptions,
  NodeLabelsAnswer,
} from "./node/labels.ts";
export type { CommandLaunch, DocumentLaunch, LaunchAnswer } from "./node/launch/format-launch.ts";
export type { NodeLabels } from "./node/launch/labels/node-labels.ts";
export type { StartEvent } from "./node/launch/run-image.ts";
export type { Json, LaunchCommand, LaunchFormat, Task } from "./node/launch/target.ts";
export type { LaunchFunction } from "./node/launch.ts";
export type { LaunchOptions } from "./node/launch/workload.ts";
export type { BlobMode } from "./node/mirror/answer-blob.ts";
export type { Runtime, RuntimeConfig } from "./node/mirror/runtime-config.ts";
export type { ProvedVariant } from "./node/prove-variants.ts";
export type { ModuleResult, ProveAnswer, ProveFunction, ProveOptions, ProvedModule } from "./node/prove.ts";
export type { PullFunction, PullOptions, PulledImage, RuntimeName } from "./node/pull.ts";
export type { AgeChoice, QuestionOptions } from "./node/question.ts";
export type { ResolveAnswer, ResolveFunction, ResolveOptions } from "./node/resolve.ts";
export type { RunCommand, RunFunction, RunOptions } from "./node/run.ts";
export type {
  ServeConfig,
  ServeEvent,
  ServeFunction,
  ServeLine,
  ServeOptions,
  ServedMirror,
} from "./node/serve.ts";
export type { HostWhyNot, WhyNotAnswer, WhyNotFunction, WhyNotOptions } from "./node/why-not.ts";
export type { ExitCode } from "./problem-codes.ts";
export type { ImageCheck } from "./resolve/check-image.ts";
export type { HostResolution } from "./resolve/resolver.ts";
export type { Rank, Victor, WhyNot } from "./resolve/why-not-image.ts";
export type { AttestedBase, AttestedBuild, PurlImage } from "./trust/provenance/attested-build.ts";
export type { ClaimComparison, ClaimDifference } from "./oci/verified-provenance.ts";
export type { CountedStatement } from "./trust/provenance/verify-provenance.ts";
export type { ImageProvenance, ProvenanceVerification } from "./oci/verified-provenance.ts";
export type { RegistryFleetChoice } from "./node/question.ts";
export type { SignatureFormat, SignedImages } from "./oci/trust-flags.ts";
export type { SignatureDemands, TrustDemands } from "./oci/trust-flags.ts";
export type { SignerNames } from "./oci/trust-flags.ts";
