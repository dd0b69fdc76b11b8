/**
 * `imgmatch/inspect`: opens images, and asks registries.
 *
 * @packageDocumentation
 */

export { findImage } from "./inspect/find-image.ts";
export { noCache as noLayerCache } from "./inspect/image/layer-cache.ts";
export { inspect } from "./inspect/inspect-subjects.ts";
export { fetchFleet, fetchLock } from "./lock/fetch-lock.ts";
export { parseImmutableReference } from "./oci/immutable-reference.ts";
export { formatImageReference, parseImageReference } from "./oci/reference.ts";
export { createRegistryClient } from "./oci/registry/create-client.ts";
export { dockerCredentials } from "./oci/registry/credentials.ts";

// The types that these are made of
export type { Place, Problem } from "./errors.ts";
export type { ProblemCode } from "./problem-codes.ts";
export type {
  CpuRequirement,
  CudaRequirement,
  DriverRequirement,
  Measured,
  Requirement,
} from "./hardware/requirement.ts";
export type { AmdCode, AmdTargetCount } from "./inspect/amd/amd-inspection.ts";
export type { ImageAmd } from "./inspect/amd/amd-libraries.ts";
export type { Checksums } from "./inspect/checksums.ts";
export type { CodeArchitecture, CpuCode, FeatureUse } from "./inspect/cpu/cpu-code.ts";
export type { CpuNeed, FeatureNeed } from "./inspect/cpu/cpu-need.ts";
export type { ImageCpu } from "./inspect/cpu/cpu-need.ts";
export type { ElfDynamic, LibcNeed } from "./inspect/elf/dynamic.ts";
export type {
  ExpectationAnswer,
  FailedExpectation,
  UnmetExpectation,
} from "./inspect/expect/expectation-rules.ts";
export type { Expectation, WrittenWord } from "./inspect/expect/parse-expectations.ts";
export type { FileInspection, InspectedFile, ProgramFacts } from "./inspect/file-inspection.ts";
export type { FindImageOptions, FoundImage } from "./inspect/find-image.ts";
export type { DriverFiles, LibraryFile } from "./inspect/gpu/driver-files.ts";
export type { FatbinCompression } from "./inspect/gpu/fatbin.ts";
export type { GpuCode, ImageGpu, TargetCount, ToolkitCount } from "./inspect/gpu/gpu-inspection.ts";
export type { LayerCache } from "./inspect/image/layer-cache.ts";
export type { LayerChange, LayerInspection } from "./inspect/image/layer.ts";
export type { ImageSourceKind, OpenProgress, OpenedImage } from "./inspect/image/open-layers.ts";
export type { OpenedFile } from "./inspect/image/opened-file.ts";
export type { InspectAnswer, InspectOptions } from "./inspect/inspect-subjects.ts";
export type { ImageInspection, ImageLayer } from "./inspect/inspection.ts";
export type {
  MeasuredDriver,
  MeasuredRequirement,
} from "./inspect/measured-requirement.ts";
export type { OpenChoice, OpenEvent } from "./inspect/open-subject.ts";
export type { PackageRecords } from "./inspect/packages/unchanged-files.ts";
export type { Environment, Notice, Watching, World } from "./io/world.ts";
export type { FetchOptions } from "./lock/fetch-lock.ts";
export type { FetchedFleet, FindTrust, IndexReader, IndexTrust, SignedBy } from "./lock/index-trust.ts";
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
export type { Digest } from "./oci/digest.ts";
export type { ImmutableReference } from "./oci/immutable-reference.ts";
export type { ImageReference } from "./oci/reference.ts";
export type {
  BlobCopier,
  BlobWriter,
  Manifest,
  ManifestDescriptor,
  Referrer,
  ReferrersReader,
  RegistryClient,
} from "./oci/registry/client.ts";
export type { FullRegistryClient, RegistryOptions } from "./oci/registry/create-client.ts";
export type { Credential, CredentialStore } from "./oci/registry/credential.ts";
export type { FindProxy } from "./oci/registry/proxy.ts";
export type { RegistryAccess } from "./oci/registry/registry-access.ts";
export type { StoredBlobs } from "./oci/registry/stored-blobs.ts";
