/**
 * imgmatch as a library: everything the command line does but `serve`. docs/library.md names every value by its use.
 *
 * @example
 * import { parseLock, nodeHostIo, probeHost, resolveImage } from "imgmatch";
 *
 * const lock = parseLock(await readFile("images/imgmatch.lock.json", "utf8"), "imgmatch.lock.json");
 * const { match, rejected } = resolveImage(lock, await probeHost(nodeHostIo()));
 *
 * @packageDocumentation
 */

export {
  type ExitCode,
  exitCodes,
  formatProblem,
  ImgmatchError,
  type Place,
  type Problem,
  type ProblemCode,
  problemCodes,
} from "./errors.ts";
export type { World } from "./io/world.ts";
export { version } from "./version.ts";

// Build: matrix → plan → render → build → publish → lock
export type { BuildRequest, BuildWatch, BuiltImage, Engine } from "./fleet/build/engine.ts";
export type { Layer } from "./oci/image-layers.ts";
export { engines } from "./fleet/build/engines/engines.ts";
export type { BuildSummary, FleetSources } from "./fleet/build/fleet-builder.ts";
export type { LayerDifference, ReproReport } from "./fleet/build/build-twice.ts";
export type { BuildEvent, BuiltCell, CellResult, FailedCell } from "./fleet/build/schedule.ts";
export type { BakeFile, BakeTarget } from "./fleet/export/bake.ts";
export type { Shard } from "./fleet/export/shards.ts";
export { type AdoptOptions, type Adoption, adoptImages } from "./fleet/adopt-images.ts";
export { type BakeOptions, bakePlan } from "./fleet/bake-plan.ts";
export type { BuildOptions, BuildPreview } from "./fleet/build-with.ts";
export { type InitOptions, initFleet } from "./fleet/init-fleet.ts";
export { type MoveBasesOptions, type MovedBases, moveBases } from "./fleet/move-bases.ts";
export { type Fleet, type OpenOptions, openFleet } from "./fleet/open-fleet.ts";
export { type FindBaseDigest, type FleetPlanOptions, planOpenFleet } from "./fleet/plan-open-fleet.ts";
export { type ExplainedPlan, plan, type PlanOptions } from "./fleet/plan.ts";
export { promote, type PromoteOptions } from "./fleet/promote.ts";
export { pruneLock } from "./fleet/prune-lock.ts";
export type { PublishOptions } from "./fleet/publish-with.ts";
export type { IndexEvent, Publication, PublicationEvent, SignaturesEvent } from "./fleet/publication.ts";
export { checkFleet, type RenderedFleet, type RenderOptions, renderFleet } from "./fleet/render-fleet.ts";
export { repro, type ReproAnswer, type ReproEvent, type ReproOptions } from "./fleet/repro.ts";
export type { BuildAnswer, FleetBuildEvent, SummaryEvent } from "./fleet/run-build.ts";
export { build } from "./pulumi/build.ts";
export { publish } from "./pulumi/publish.ts";
export { shardPlan } from "./fleet/shard-plan.ts";
export type { Matrix } from "./fleet/matrix/matrix.ts";
export { parseMatrix } from "./fleet/matrix/parse-matrix.ts";
export { matrixJsonSchema } from "./fleet/matrix/json-schema.ts";
export type { Cell } from "./fleet/cells/cell.ts";
export { explainInputs } from "./fleet/plan/changes.ts";
export type { ExpandedCell } from "./fleet/cells/expand.ts";
export type { InputComparison } from "./fleet/plan/planned-cell.ts";
export { type PlanJson, planToJson } from "./fleet/plan/plan-json.ts";
export type { Action, Plan, PlannedBase, PlannedCell } from "./fleet/plan/planned-cell.ts";
export { parseSelections, type Selection, selectImages } from "./fleet/cells/select.ts";
export type { BaseUpdate } from "./fleet/plan/registry-view.ts";
export type { NativeImage } from "./fleet/publish/native-images.ts";
export type { PublishedIndex, Vouching } from "./fleet/publish/publish-index.ts";
export {
  type PlanIndex,
  type PlanIndexOptions,
  publishPlanIndex,
} from "./fleet/publish/publish-plan-index.ts";
export type { SurveyOptions } from "./fleet/publish/survey.ts";
export type { IndexVerification } from "./fleet/publish/verify-index.ts";
export {
  type Drift as RegistryDrift,
  type Verification,
  verifyLock,
  type VerifyOptions,
} from "./fleet/publish/verify-lock.ts";
export {
  type ImageProvenance,
  type ProvenanceOptions,
  type ProvenanceVerification,
  verifyProvenance,
} from "./trust/provenance/verify-provenance.ts";
export type { Drift } from "./fleet/dockerfile/drift.ts";
export type { RenderedFile } from "./fleet/dockerfile/render-cell.ts";

// The lock
export { formatLock } from "./lock/format-lock.ts";
export {
  type CpuRequirement,
  type CudaRequirement,
  type DriverRequirement,
  type Lock,
  type LockedAdoption,
  type LockedBase,
  type LockedImage,
  type LockedInputs,
  type LockedManifest,
  lockPath,
  lockSchemaVersion,
  type Measured,
  type Requirement,
} from "./lock/lock.ts";
export { readLock, readLockIfPresent } from "./lock/lock-file.ts";
export { type MergeOptions, mergeLockFiles } from "./lock/merge-locks.ts";
export { mergeLocks, type NamedLock } from "./lock/merge-locks.ts";
export { parseLock } from "./lock/parse-lock.ts";
export { removeImages, withoutImages } from "./lock/update-lock.ts";
export { updateLock, type UpdateLockOptions } from "./lock/update-lock.ts";
export { writeLock } from "./lock/write-lock.ts";

// Images and registries
export type { Environment } from "./oci/engine/engine-endpoint.ts";
export { type FindImageOptions, type FoundImage, findImage } from "./inspect/find-image.ts";
export { type LayerCache, noCache as noLayerCache } from "./inspect/image/layer-cache.ts";
export { type InspectRequest, inspect as inspectImage } from "./inspect/inspect.ts";
export type { ImageInspection } from "./inspect/inspection.ts";
export type { Digest } from "./oci/digest.ts";
export { type ImmutableReference, parseImmutableReference } from "./oci/immutable-reference.ts";
export { formatImageReference, type ImageReference, parseImageReference } from "./oci/reference.ts";
export type {
  BlobCopier,
  BlobWriter,
  Manifest,
  ManifestDescriptor,
  Referrer,
  ReferrersReader,
  RegistryClient,
} from "./oci/registry/client.ts";
export {
  createRegistryClient,
  type FullRegistryClient,
  type RegistryOptions,
} from "./oci/registry/create-client.ts";
export type { CredentialStore } from "./oci/registry/credential.ts";
export { dockerCredentials } from "./oci/registry/credentials.ts";
export { type FetchOptions, fetchFleet, fetchLock } from "./lock/fetch-lock.ts";
export type { FetchedFleet, FindTrust, IndexReader, IndexTrust, SignedBy } from "./lock/index-trust.ts";
export { type TrustOptions, trustBy } from "./trust/find-trust.ts";
export type { IdentitySigner, KeySigner, Signer } from "./trust/trusted-signer.ts";
export { readTrustPolicy } from "./trust/policy/read-policy.ts";
export type { TrustPolicy } from "./trust/policy/policy.ts";
export { requiresLabel } from "./fleet/dockerfile/metadata.ts";

// Use: host facts → resolve → launch
export { type CatalogRequest, catalogHosts } from "./cover/catalog.ts";
export type { CoverChange } from "./cover/compare-covers.ts";
export type {
  ClassDescription,
  ClassMatch,
  Cover,
  CoverCounts,
  CoveredClass,
  CoverFleet,
  NearMiss,
} from "./cover/cover.ts";
export type { EstimatedCost, Figures, FleetCost } from "./cover/fleet-cost.ts";
export type { CoveredImage } from "./cover/image-use.ts";
export type { CpuDistance } from "./cover/native-distance.ts";
export { coverPage } from "./cover/page/cover-page.ts";
export { plannedFleet } from "./cover/planned-fleet.ts";
export type { Violation } from "./cover/policies.ts";
export { type CoverOptions, type CoverReport, coverReport } from "./cover/cover-report.ts";
export type { SuggestedCell, Suggestion, SuggestOptions } from "./cover/suggestion.ts";
export type { Diagnosis, Finding, FindingState } from "./node/doctor/diagnose.ts";
export { examineMachine } from "./node/doctor/examine.ts";
export type { CpuFacts, GpuFacts, HostFacts, HostProblem, MigInstance, NvidiaFacts } from "./host/facts.ts";
export { formatHostFacts } from "./host/format-facts.ts";
export type { HostIo } from "./host/io.ts";
export { nodeHostIo } from "./host/node-io.ts";
export { parseHostFacts } from "./host/parse-facts.ts";
export { probeHost, type ProbeOptions } from "./host/probe.ts";
export { readHost } from "./host/read-host.ts";
export { readHostFiles } from "./host/read-host-files.ts";
export { type NamedHost, readHosts } from "./host/read-hosts.ts";
export { type ChoiceOptions, chooseGpus, type GpuChoice, type GpuWish } from "./node/launch/choose-gpus.ts";
export { chooseLaunch, type LaunchChoice, type LaunchChoiceOptions } from "./node/launch/choose-launch.ts";
export {
  type FleetLaunchOptions,
  type FleetRequests,
  fleetRequests,
} from "./node/launch/fleet/fleet-requests.ts";
export type { FleetMember } from "./node/launch/fleet/split-nodes.ts";
export { formatDocuments, formatLaunch } from "./node/launch/format-launch.ts";
export { labelFormats } from "./node/launch/labels/label-formats.ts";
export {
  type AdvertisedNode,
  advertiseNode,
  nodeLabels,
  type NodeLabels,
} from "./node/launch/labels/node-labels.ts";
export { type NodeLabel, resolvedLabel } from "./node/launch/labels/vocabulary.ts";
export { launchTargets } from "./node/launch/launch-targets.ts";
export { type NfdCompatSpecs, nfdCompatSpecs } from "./node/launch/nfd-compat.ts";
export { runImage, type Spawn } from "./node/launch/run-image.ts";
export { shellCommand } from "./node/launch/shell.ts";
export type {
  FleetLaunch,
  FleetTarget,
  Json,
  LaunchCommand,
  LaunchFormat,
  LaunchOutput,
  LaunchRequest,
  LaunchTarget,
  LocalTarget,
} from "./node/launch/target.ts";
export { type PulledImage, type PullOptions, type PullRequest, pullImage } from "./node/pull/pull-image.ts";
export type { RuntimeName } from "./node/pull/runtimes.ts";
export { type ExportedScript, type ExportShOptions, exportSh } from "./node/sh/export-sh.ts";
export { checkImage, type DescribedImage, type ImageCheck } from "./resolve/check-image.ts";
export { explainResolution } from "./resolve/explain.ts";
export { type JudgedImage, judgeImage, type JudgeOptions } from "./resolve/judge.ts";
export { compilePins, type Pins } from "./resolve/pins.ts";
export {
  type Candidate,
  type Ranking,
  type ResolveOptions,
  rankImages,
  resolveImage,
} from "./resolve/resolve-image.ts";
export { createResolver, type Resolver } from "./resolve/resolver.ts";
export type {
  CodeFit,
  CpuShare,
  Fit,
  Match,
  Misfit,
  OpenAxis,
  ReasonCode,
  Rejection,
  Resolution,
  Tier,
  UnusedGpus,
  Verdict,
} from "./resolve/verdict.ts";
export { type Rank, type Victor, type WhyNot, whyNotImage } from "./resolve/why-not-image.ts";

// Hardware facts
export { type ComputeCapability, parseComputeCapability } from "./hardware/compute-capability.ts";
export { findMarch, type March, marchFeatures } from "./hardware/cpu-marches.ts";
export {
  type CudaToolkit,
  driverFloor,
  findToolkit,
  type SupportedTargets,
  supportedTargets,
} from "./hardware/cuda-toolkits.ts";
export { describeHardware, type HardwareKind } from "./hardware/describe-hardware.ts";
export { classifyGpu, type GpuClass } from "./hardware/gpu-class.ts";
export { findGpuByPci, type GpuProduct } from "./hardware/gpu-products.ts";
export { type GpuTarget, parseGpuTarget, targetRunsOn } from "./hardware/gpu-target.ts";
export type { HardwareReport, ReportRow, ReportTable } from "./hardware/describe-hardware.ts";
export { hardwareSources, type SourceKey } from "./hardware/sources.ts";
export { compareDriverVersions, type DriverVersion, parseDriverVersion } from "./hardware/driver-version.ts";
