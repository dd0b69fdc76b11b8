/**
 * `imgmatch/inspect`: opens images and files, without the rest of the library.
 *
 * @packageDocumentation
 */

import { checked } from "./io/checked-options.ts";
import { inspect as inspectUnchecked, type InspectFunction } from "./inspect/inspect-subjects.ts";

export const inspect: InspectFunction = checked("inspect", inspectUnchecked);

// The types that it is made of
export type { Place, Problem } from "./errors.ts";
export type { AmdCode, AmdTargetCount } from "./inspect/amd/amd-inspection.ts";
export type { ImageAmd } from "./inspect/amd/amd-libraries.ts";
export type { Checksums } from "./inspect/checksums.ts";
export type { CodeBytes, ImageBytes, PackageBytes } from "./inspect/code-bytes.ts";
export type { CpuChoice } from "./inspect/cpu/cpu-choices.ts";
export type { CodeArchitecture, CpuCode, FeatureUse } from "./inspect/cpu/cpu-code.ts";
export type { CpuNeed, FeatureNeed, ImageCpu } from "./inspect/cpu/cpu-need.ts";
export type { ElfDynamic, LibcNeed } from "./inspect/elf/dynamic.ts";
export type {
  ExpectationAnswer,
  FailedExpectation,
  UnmetExpectation,
} from "./inspect/expect/expectation-rules.ts";
export type { Expectation, WrittenWord } from "./inspect/expect/parse-expectations.ts";
export type { FileInspection, InspectedFile, ProgramFacts } from "./inspect/file-inspection.ts";
export type { FatbinCompression } from "./inspect/nvidia/fatbin.ts";
export type { GpuCode, ImageGpu, TargetCount, ToolkitCount } from "./inspect/nvidia/gpu-inspection.ts";
export type { LayerChange, LayerInspection } from "./inspect/image/layer.ts";
export type { ImageSourceKind, OpenedImage } from "./inspect/image/open-layers.ts";
export type { OpenProgress } from "./lock/statement.ts";
export type { OpenedFile } from "./inspect/image/opened-file.ts";
export type { InspectAnswer, InspectFunction, InspectOptions } from "./inspect/inspect-subjects.ts";
export type { ImageInspection, ImageLayer } from "./inspect/inspection.ts";
export type { MeasuredChoice, MeasuredRequirement } from "./inspect/measured-requirement.ts";
export type { MeasuredDriver } from "./inspect/nvidia/measured-cuda.ts";
export type { OpenChoice, OpenEvent } from "./lock/statement.ts";
export type { PackageRecords } from "./inspect/packages/unchanged-files.ts";
export type { Environment, Notice, Watching, World } from "./io/world.ts";
export type { Digest } from "./oci/digest.ts";
export type { RegistryAccess } from "./oci/registry/registry-flags.ts";
export type { ProblemCode } from "./problem-codes.ts";
