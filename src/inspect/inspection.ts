/** Puts the findings of an image together: the JSON of `imgmatch inspect --json`. */

import { compareText } from "../io/collections.ts";
import { amdOf, type ImageAmd } from "./amd/amd-libraries.ts";
import { withArchivedCode } from "./amd/archived-code.ts";
import { isNamedForCpu, optionalAmong, variantsAmong } from "./cpu/dispatch.ts";
import { asksThrough, cpuOf, findCpuNeed, type ImageCpu } from "./cpu/cpu-need.ts";
import type { ImageBytes } from "./code-bytes.ts";
import type { ClaimAnswer } from "./claims/claim-files.ts";
import type { InspectedFile } from "./file-inspection.ts";
import { driverFiles } from "./nvidia/driver-files.ts";
import { droppedLinks } from "./nvidia/dropped-links.ts";
import type { PackagesWithCode } from "./nvidia/measured-cuda.ts";
import { gpuOf, type ImageGpu } from "./nvidia/gpu-inspection.ts";
import { l4tOf } from "./nvidia/l4t-release.ts";
import { filesOfLayers, type ImageFiles, type UnopenedFile } from "./image/file-tree.ts";
import type { OpenedImage } from "./image/open-layers.ts";
import { compatPath, type ImageDriver } from "./loader/compat-path.ts";
import { type MeasuredRequirement, requirementOf } from "./measured-requirement.ts";
import { packageOwners, testFiles } from "./packages/package-owners.ts";
import { packagesWithCode } from "./packages/gpu-use.ts";
import { packagesOf } from "./packages/packages-of.ts";
import { unchangedFiles } from "./packages/unchanged-files.ts";

export interface ImageInspection {
  readonly schemaVersion: 1;
  /** The name as the caller wrote it. */
  readonly subject: string;
  readonly source: OpenedImage["source"];
  readonly digest: string | null;
  readonly platform: string | null;
  readonly layers: readonly ImageLayer[];
  readonly cpu: ImageCpu;
  /** null for an image without GPU code of NVIDIA. */
  readonly gpu: ImageGpu | null;
  /** null for an image without GPU code of AMD. */
  readonly amd: ImageAmd | null;
  readonly driver: ImageDriver;
  readonly requires: MeasuredRequirement;
  readonly unopened: readonly UnopenedFile[];
  /** The number of files that vanished while a folder was read; absent if none did. */
  readonly vanished?: number;
  /** Package databases that could not be read: the files of their packages count as the image's own. */
  readonly unreadPackages: readonly UnopenedFile[];
  readonly files: readonly InspectedFile[];
  /** Files in packages' folders of tests that no module outside of them names: they decide nothing. */
  readonly tests: readonly InspectedFile[];
  /** The bytes of its code. Absent for a part of an image that is judged alone. */
  readonly bytes?: ImageBytes;
  /** What it says of itself, held against its files; only where that is asked for. */
  readonly claims?: readonly ClaimAnswer[];
}

export interface ImageLayer {
  readonly digest: string | null;
  /** Digest of the uncompressed archive: the same in a base image and in the images on it. */
  readonly diffId: string | null;
  /** Unpacked bytes. */
  readonly size: number;
}

/** All files of an image, each with what it needs of a CPU: other files of the image may ask the CPU for it. */
export interface ImageSurvey extends Pick<ImageFiles, "packages" | "claims"> {
  readonly files: readonly InspectedFile[];
  /** See {@link ImageInspection.tests}. */
  readonly tests: readonly InspectedFile[];
  readonly unopened: readonly UnopenedFile[];
  readonly unread: readonly UnopenedFile[];
  readonly driver: ImageDriver;
}

/** Files of an image that are summed up together, and the driver in the image, as far as it is theirs. */
export type SummedFiles = Pick<ImageSurvey, "files" | "unopened" | "driver">;

export function inspectionOf(image: OpenedImage, survey = surveyOf(image)): ImageInspection {
  const packages = () => packagesWithCode(packagesOf(image, survey), survey.files);
  return { ...sumUp(image, survey.unread, survey, packages), tests: survey.tests };
}

export function surveyOf(image: OpenedImage): ImageSurvey {
  const found = filesOfLayers(image.layers);
  const packageOf = unchangedFiles(found.packages);
  const variants = variantsAmong(found.files.map(({ path }) => path));
  const optional = optionalAmong(
    found.files.flatMap(({ path, inspection: { program } }) =>
      program === null ? [] : [{ path, ...program }],
    ),
  );
  const throughOf = asksThrough(found.files.map(({ inspection }) => inspection));
  const each = found.files.map(({ path, layer, inspection }): InspectedFile => {
    const { cpu, program, checksums } = inspection;
    const isPlugIn = isNamedForCpu(path) && (cpu?.asks.length ?? 0) > 0;
    const isVariant = variants.has(path) || isPlugIn;
    const neededLevel = program?.neededLevel ?? null;
    const [isOptional, through] = [optional.has(path), throughOf(inspection)];
    const answer = cpu && findCpuNeed({ cpu, isVariant, isOptional, neededLevel, through });
    return { path, layer, ...inspection, answer, package: packageOf(path, checksums) };
  });
  const files = withArchivedCode(each);
  const libraries = driverFiles(files.map(({ path }) => path));
  const programs = files.flatMap(({ path, program }) => (program === null ? [] : [{ path, ...program }]));
  const { loader, realPath, packages, named, claims, unread } = found;
  const isOfTests = testFiles(packageOwners(image, packages), named);
  const tests = new Set(files.filter((file) => isOfTests(file.path, file.package)));
  const deciding = files.filter((file) => !tests.has(file));
  const view = { compat: libraries.compat, loader, realPath, start: image.start, programs };
  const unopened = [
    ...found.unopened.filter(({ path }) => !isOfTests(path, null)),
    ...deciding.flatMap(({ path, layer, unopened: reasons }) =>
      reasons.map((reason) => ({ path, layer, reason })),
    ),
  ].sort((a, b) => compareText(a.path, b.path));
  const driver = {
    ...libraries,
    compatPath: compatPath(view),
    l4t: l4tOf(packages),
    links: droppedLinks(deciding, unopened),
  };
  return { files: deciding, tests: [...tests], unopened, unread, driver, packages, claims };
}

export function sumUp(
  image: OpenedImage,
  unread: ImageSurvey["unread"],
  { files, unopened, driver }: SummedFiles,
  packages?: PackagesWithCode,
): ImageInspection {
  const cpu = cpuOf(files, image.platform);
  const gpu = gpuOf(files);
  const amd = amdOf(files);
  return {
    schemaVersion: 1,
    subject: image.name,
    ...{ source: image.source, digest: image.digest, platform: image.platform },
    layers: image.layers.map(({ digest, size }, index) => ({
      digest,
      diffId: image.diffIds?.length === image.layers.length ? (image.diffIds[index] ?? null) : null,
      size,
    })),
    ...{ cpu, gpu, amd, driver },
    requires: requirementOf(files, { cpu, gpu, amd, driver }, packages),
    unopened,
    ...((image.vanished ?? 0) > 0 && { vanished: image.vanished ?? 0 }),
    unreadPackages: unread,
    files,
    tests: [],
  };
}
