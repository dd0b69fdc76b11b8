/**
 * imgmatch as a library: everything the command line does.
 *
 * @example
 * import { parseLock, nodeHostIo, probeHost, resolveImage } from "imgmatch";
 *
 * const lock = parseLock(await readFile("images/imgmatch.lock.json", "utf8"), "imgmatch.lock.json");
 * const { match, rejected } = resolveImage(lock, await probeHost(nodeHostIo()));
 *
 * @packageDocumentation
 */

export type { BuildRequest, BuildWatch, BuiltImage, Engine, Layer } from "./build/engine.ts";
export { type CacheOptions, noCache } from "./build/engines/cache.ts";
export { engines } from "./build/engines/engines.ts";
export type { BuildSummary } from "./build/fleet-builder.ts";
export { isReady, jobOf } from "./build/jobs.ts";
export { buildTwice, firstDifference, type LayerDifference, type ReproReport } from "./build/repro.ts";
export type { BuildEvent, BuildJob, CellResult } from "./build/schedule.ts";
export {
  type Diagnosis,
  diagnose,
  type EngineInfo,
  type EngineState,
  type Finding,
  type FindingState,
  type LoginState,
} from "./doctor.ts";
export * from "./errors.ts";
export { type BakeFile, type BakeTarget, bakeFile } from "./export/bake.ts";
export { type Shard, type ShardCell, shardCells } from "./export/shards.ts";
export { type BuildPlanOptions, buildPlan } from "./fleet/build-plan.ts";
export { type Fleet, openFleet } from "./fleet/open-fleet.ts";
export { planOpenFleet } from "./fleet/plan-open-fleet.ts";
export * from "./hardware/index.ts";
// Use: host facts → resolve → launch
export {
  type CpuFacts,
  factsSchemaVersion,
  type GpuFacts,
  type HostFacts,
  type HostProblem,
  type MigInstance,
  type NvidiaFacts,
} from "./host/facts.ts";
export { formatHostFacts } from "./host/format-facts.ts";
export type { HostIo } from "./host/io.ts";
export { nodeHostIo } from "./host/node-io.ts";
export { parseHostFacts } from "./host/parse-facts.ts";
export { probeHost } from "./host/probe.ts";
export { readHost } from "./host/read-host.ts";
export { type InspectedImage, type InspectOptions, inspectImage } from "./inspect-image.ts";
export { type ChoiceOptions, chooseGpus, type GpuChoice, type GpuWish } from "./launch/choose-gpus.ts";
export { type FleetMember, type NodeSplit, splitNodes } from "./launch/fleet/fleet.ts";
export { labelFormats } from "./launch/labels/label-formats.ts";
export { nodeLabels, resolvedLabel } from "./launch/labels/vocabulary.ts";
export { launchTargets } from "./launch/launch-targets.ts";
export { nfdCompatArtifactType, nfdCompatSpec } from "./launch/nfd-compat.ts";
export { runImage } from "./launch/run.ts";
export { shellCommand } from "./launch/shell.ts";
export type { LaunchRequest, LaunchTarget } from "./launch/target.ts";
export { formatLock } from "./lock/format-lock.ts";
export * from "./lock/lock.ts";
export { readLock, readLockIfPresent, writeLock } from "./lock/lock-file.ts";
export { mergeLocks, type NamedLock } from "./lock/merge-locks.ts";
export { parseLock } from "./lock/parse-lock.ts";
export { updateLock } from "./lock/update-lock.ts";
// Build: matrix → plan → render → build → lock
export type * from "./matrix/matrix.ts";
export { parseMatrix } from "./matrix/parse-matrix.ts";
export { matrixJsonSchema } from "./matrix/schema.ts";
export type { Digest } from "./oci/digest.ts";
export { type ImmutableReference, parseImmutableReference } from "./oci/immutable-reference.ts";
export { formatImageReference, type ImageReference, parseImageReference } from "./oci/reference.ts";
export type { Cell } from "./plan/cell.ts";
export { compareInputs, explainInputs } from "./plan/changes.ts";
export { type ExpandedCell, expandMatrix } from "./plan/expand.ts";
export type { InputComparison } from "./plan/input-comparison.ts";
export { type BuildInputs, inputDigest } from "./plan/input-digest.ts";
export { planFleet } from "./plan/plan.ts";
export { type PlanJson, planToJson } from "./plan/plan-json.ts";
export { type Action, actions, type Plan, type PlannedBase, type PlannedCell } from "./plan/planned-cell.ts";
export { type PublishedImage, type RegistryView, withRegistryView } from "./plan/registry-view.ts";
export { isSelected, parseSelections, type Selection } from "./plan/select.ts";
export { type BaseUpdate, baseUpdates, withUpdatedBases } from "./plan/update-bases.ts";
export { type IndexRequest, type PublishedIndex, publishIndex } from "./publish/publish-index.ts";
export { type PlanIndex, type PlanIndexOptions, publishPlanIndex } from "./publish/publish-plan-index.ts";
export { type SurveyOptions, surveyRegistries } from "./publish/survey.ts";
export { type Drift as RegistryDrift, type Verification, verifyLock } from "./publish/verify-lock.ts";
// Registries
export type { Manifest, ManifestDescriptor, RegistryClient } from "./registry/client.ts";
export { createRegistryClient } from "./registry/create-client.ts";
export { dockerCredentials } from "./registry/credentials.ts";
export { type FetchOptions, fetchFleet } from "./registry/fetch-fleet.ts";
export type { FleetIndex, IndexedImage } from "./registry/fleet-index.ts";
export { findBases, pinBases } from "./render/bases.ts";
export { type Drift, findDrift } from "./render/drift.ts";
export { type RenderedFile, renderCell } from "./render/render.ts";
export { compileTemplate, type Template } from "./render/template.ts";
export { type TemplateView, viewOf } from "./render/view.ts";
export { checkImage, type DescribedImage, type ImageCheck } from "./resolve/check-image.ts";
export { explainResolution } from "./resolve/explain.ts";
export { judgeImage } from "./resolve/judge.ts";
export { compilePins, type Pins } from "./resolve/pins.ts";
export {
  type Candidate,
  type Ranking,
  type ResolveOptions,
  rankImages,
  resolveImage,
} from "./resolve/resolve.ts";
export * from "./resolve/verdict.ts";
export { type Rank, type Victor, type WhyNot, whyNot, whyNotSchemaVersion } from "./resolve/why-not.ts";

export { version } from "./version.ts";
