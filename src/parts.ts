/**
 * `imgmatch/parts`: the parts of `imgmatch`'s functions, for programs that join them in another way.
 *
 * @packageDocumentation
 */

// Build: matrix → cells → Dockerfiles → plan
export { requiresLabel } from "./fleet/dockerfile/metadata.ts";
export { parseSelections, selectImages } from "./fleet/cells/select.ts";
export { parseMatrix } from "./fleet/matrix/parse-matrix.ts";
export { openFleet } from "./fleet/open/open-fleet.ts";
export { planOpenFleet } from "./fleet/open/plan-open-fleet.ts";
export { explainInputs } from "./fleet/plan/changes.ts";
export { planToJson } from "./fleet/plan/plan-json.ts";
export { publishPlanIndex } from "./fleet/publish/publish-plan-index.ts";
export { trustBy } from "./trust/find-trust.ts";
export { readTrustPolicy } from "./trust/policy/read-policy.ts";
export { verifyProvenance } from "./trust/provenance/verify-provenance.ts";

// The answer used
export { plannedFleet } from "./cover/cover-fleet.ts";
export { catalogHosts } from "./host/catalog.ts";
export { coverReport } from "./cover/cover-report.ts";
export { coverPage } from "./cover/page/cover-page.ts";
export { chooseGpus } from "./node/launch/choose-gpus.ts";
export { chooseLaunch } from "./node/launch/choose-launch.ts";
export { fleetRequests } from "./node/launch/fleet/fleet-requests.ts";
export { formatDocuments } from "./node/launch/format-launch.ts";
export { labelFormats } from "./node/launch/labels/label-formats.ts";
export { createLabeller } from "./node/launch/labels/image-labels.ts";
export { nodeLabels } from "./node/launch/labels/node-labels.ts";
export { launchTargets } from "./node/launch/launch-targets.ts";
export { runImage } from "./node/launch/run-image.ts";
export { shellCommand } from "./node/launch/shell.ts";

// The types that these are made of
export type * from "./types.ts";
export type { CatalogRequest } from "./host/catalog.ts";
export type { CoverQuestion } from "./cover/cover-report.ts";
export type { SuggestOptions } from "./cover/suggestion.ts";
export type { ContextFolder, FleetSources } from "./fleet/build/jobs.ts";
export type { CellValues } from "./fleet/cells/cell.ts";
export type { CellSettings } from "./fleet/cells/cell-settings.ts";
export type { ExpandedCell } from "./fleet/cells/expand.ts";
export type { ParentCell } from "./fleet/cells/stand-on-parents.ts";
export type { Selection } from "./fleet/cells/select.ts";
export type { Base } from "./fleet/dockerfile/bases.ts";
export type { BuildContext, ContextEntry } from "./fleet/dockerfile/context.ts";
export type { GivenArguments } from "./fleet/matrix/given-arguments.ts";
export type {
  Argument,
  Attestations,
  Axis,
  AxisOf,
  AxisPatterns,
  AxisValue,
  Case,
  Data,
  Exclusion,
  Inclusion,
  Located,
  Matrix,
  NamedText,
  NamedValue,
  ParentFleet,
  PlatformValue,
  Settings,
  VersionSource,
} from "./fleet/matrix/matrix.ts";
export type { CellDockerfile } from "./fleet/open/cell-dockerfile.ts";
export type { Fleet, OpenOptions } from "./fleet/open/open-fleet.ts";
export type { BaseSources, FindBaseDigest, FindLocalBase } from "./fleet/open/find-bases.ts";
export type { FleetPlanOptions } from "./fleet/open/plan-open-fleet.ts";
export type { PlanFleetOptions } from "./fleet/plan/plan-fleet.ts";
export type { Plan, RetiredImage } from "./fleet/plan/planned-cell.ts";
export type { Vouching } from "./fleet/publish/publish-index.ts";
export type { PlanIndex, PlanIndexOptions } from "./fleet/publish/publish-plan-index.ts";
export type { NamedHost } from "./host/read-hosts.ts";
export type { FindTrust, IndexReader, IndexTrust } from "./lock/index-trust.ts";
export type { LockPins } from "./lock/lock.ts";
export type { ChoiceOptions, GpuChoice, GpuWish, TakenUnit } from "./node/launch/choose-gpus.ts";
export type { LaunchChoice, LaunchChoiceOptions } from "./node/launch/choose-launch.ts";
export type { FleetLaunchOptions, FleetRequests } from "./node/launch/fleet/fleet-requests.ts";
export type { GpuUse } from "./node/launch/gpu-units.ts";
export type { AnswerLabels, LabelChanges, LabelQuestion } from "./node/launch/labels/image-labels.ts";
export type { RunningProcess, Spawn } from "./node/launch/run-image.ts";
export type {
  FleetTarget,
  LaunchOutput,
  LaunchTarget,
  LocalTarget,
} from "./node/launch/target.ts";
export type { ImageReference } from "./oci/reference.ts";
export type {
  Manifest,
  ManifestDescriptor,
  Referrer,
  ReferrersReader,
  RegistryClient,
} from "./oci/registry/client.ts";
export type { Candidate, OrderStep, Placed, SortKey } from "./resolve/order-steps.ts";
export type { Pin } from "./resolve/pins.ts";
export type { Ranking } from "./resolve/resolve-image.ts";
export type { ResolveImageOptions } from "./resolve/resolve-options.ts";
export type { RankedImages } from "./resolve/unasked.ts";
export type { CpuShare, Fit } from "./resolve/verdict.ts";
export type { EvidenceReader } from "./trust/evidence-reader.ts";
export type { TrustOptions } from "./trust/find-trust.ts";
export type {
  PolicyIdentity,
  PolicyKey,
  PolicySigner,
  RepositoryPattern,
  TrustPolicy,
  TrustRule,
} from "./trust/policy/policy.ts";
export type { CountOptions } from "./trust/provenance/count-statements.ts";
export type { ProvenanceOptions } from "./trust/provenance/verify-provenance.ts";
export type { TrustedIdentity, TrustedKey, TrustedSigner, WantedName } from "./trust/trusted-signers.ts";
export type { VerifyEvidenceOptions } from "./trust/verify-evidence.ts";
