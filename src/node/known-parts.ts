/** The packages of an opened subject, each with its needs. */

import { ImgmatchError } from "../errors.ts";
import { vendorNames } from "../hardware/gpu-vendors.ts";
import { adoptedImage, needsBesideGpu } from "../inspect/adopt/adopted-image.ts";
import type { DevicePackage } from "../inspect/claims/claim-files.ts";
import { lackingDevices, normalName } from "../inspect/claims/device-packages.ts";
import { type InspectedFile, noCode } from "../inspect/file-inspection.ts";
import type { OpenedImage } from "../inspect/image/open-layers.ts";
import {
  type ImageInspection,
  inspectionOf,
  type SummedFiles,
  sumUp,
  surveyOf,
} from "../inspect/inspection.ts";
import { type GpuUse, gpuOfPackage, linkedFiles } from "../inspect/packages/gpu-use.ts";
import { judgeArchitecture } from "../inspect/packages/judge-architectures.ts";
import { packagesOf } from "../inspect/packages/packages-of.ts";
import { bringsLibc, type SystemNeeds, systemNeedsOf } from "../inspect/system-needs.ts";
import { type DescribedImage, needUnknown, type Unproved } from "../resolve/check-image.ts";
import { describeRequirement } from "../resolve/describe-measured.ts";

/** Of a subject, with the packages that it has. */
export interface KnownParts {
  /** The packages of its files; one part for a subject that is not judged by its files. */
  readonly parts: readonly [KnownPart, ...KnownPart[]];
  /** All packages of an image together, of which a host takes all or nothing; absent for other subjects. */
  readonly whole?: KnownPart;
}

/** A package of a subject, or all of the subject. */
export interface KnownPart {
  /** `torch`; empty for the files of no package, and for a subject that is not judged by its files. */
  readonly name: string;
  readonly version: string | null;
  readonly judgedBy: "lock" | "index" | "label" | "files" | "environment";
  readonly notes: readonly string[];
  readonly described: DescribedImage;
  /** The file by which the part is for another architecture; null if no file alone decides. */
  readonly elsewhere: string | null;
  /** null if no file was opened. */
  readonly inspection: ImageInspection | null;
  /** null for an image, which brings its own. */
  readonly system: SystemNeeds | null;
  /** Packages with its code for AMD's targets that are not there. */
  readonly lacking: readonly DevicePackage[];
  /** How its files use a GPU, and the part without its code for GPUs; null if no file was opened, or if it has none. */
  readonly gpu: {
    readonly use: Exclude<GpuUse, "none">;
    cpuPart(): KnownPart;
    /** Where no GPU is used: of a vendor's libraries, those that files of other packages link. Libraries load the rest by name, for a GPU. */
    idlePart(): KnownPart;
  } | null;
}

export const unopened = {
  ...{ name: "", version: null, notes: [], inspection: null, system: null, elsewhere: null, gpu: null },
  lacking: [],
} as const;

export function imageOf(opened: OpenedImage, described: DescribedImage): KnownParts {
  const image = { ...opened, platform: described.platform };
  const whole = { ...unopened, ...byFiles(described, image, inspectionOf(image)) };
  return { parts: partsOf(opened, described, null), whole };
}

/**
 * Judges each package by its files, and by the linked libraries of other packages.
 *
 * @param described its platform is the host's where `opened` has none
 * @param path of a subject that runs on the host's own system; null for an image
 */
export function partsOf(
  opened: OpenedImage,
  described: DescribedImage,
  path: string | null,
): KnownParts["parts"] {
  const survey = surveyOf(opened);
  const linkedOf = linkedFiles(survey.files);
  const devices = lackingDevices(survey.claims, survey.packages);
  const found = packagesOf(opened, survey).map((each) => {
    const { members, ...place } =
      opened.platform === null
        ? judgeArchitecture(each.members, described.platform)
        : { members: each.members, platform: described.platform, file: null, undecided: [] };
    return { ...each, ...place, gpu: gpuOfPackage(members, linkedOf) };
  });
  const usesGpu = found.some(({ gpu }) => gpu.use !== "none");
  const { driver } = survey;
  const drivers = [...driver.bundled, ...driver.compat].map((file) => file.path);
  const hasLibc = bringsLibc(survey.files);
  const parts = found.map(
    ({ name, version, unopened: unread, platform, file, undecided, gpu }): KnownPart => {
      const { use, files } = gpu;
      const holdsDriver = files.some((each) => drivers.includes(each.path));
      const isOfDriver = use !== "none" || (!usesGpu && holdsDriver);
      const image = { ...opened, platform };
      const system = path === null ? null : systemNeedsOf(path, hasLibc ? [] : files, survey.claims);
      const judge = (summed: SummedFiles): KnownPart => {
        const inspection = sumUp(image, survey.unread, summed);
        const answer = byFiles({ ...described, platform }, image, inspection);
        const open = [
          ...(answer.described.undecided ?? []),
          ...undecided.map(elsewhereUnproved),
          ...(undecided.length === 0 && system !== null && survey.files.length + survey.tests.length === 0
            ? nothingFound(inspection, system)
            : []),
        ];
        return {
          ...{ name, version, judgedBy: answer.judgedBy, notes: answer.notes, inspection, system },
          ...{ described: { ...answer.described, undecided: open }, elsewhere: file, gpu: null },
          lacking: devices.get(normalName(name)) ?? [],
        };
      };
      const whole = { files, unopened: unread, driver: isOfDriver ? driver : { ...driver, ...noDriver } };
      if (use === "none") return judge(whole);
      const partWithout = (kept: readonly InspectedFile[], open: SummedFiles["unopened"]) =>
        judge({ files: kept.map(withoutGpu), unopened: open, driver: { ...driver, ...noDriver } });
      const cpuPart = () => partWithout(files, unread);
      const idlePart = () => {
        if (use !== "libraries") return cpuPart();
        const linked = new Set(linkedOf(survey.files.filter((each) => !files.includes(each))));
        const kept = files.filter((each) => linked.has(each));
        return partWithout(
          kept,
          unread.filter(({ path: at }) => kept.some((each) => each.path === at)),
        );
      };
      return { ...judge(whole), gpu: { use, cpuPart, idlePart } };
    },
  );
  const [first, ...others] = parts;
  if (first !== undefined) return [first, ...others];
  const system = path === null ? null : systemNeedsOf(path, [], survey.claims);
  const nothing = { files: [], unopened: [], driver: { ...driver, ...noDriver } };
  const inspection = sumUp(opened, survey.unread, nothing);
  const answer = byFiles(described, { ...opened, platform: described.platform }, inspection);
  const open =
    system === null || survey.files.length + survey.tests.length > 0 ? [] : nothingFound(inspection, system);
  return [{ ...unopened, ...answer, system, described: { ...answer.described, undecided: open } }];
}

const noDriver = { bundled: [], compat: [], compatPath: null } as const;
const withoutGpu = (file: InspectedFile): InspectedFile => ({ ...file, ...noCode });

function elsewhereUnproved(message: string): Unproved {
  return { code: "ARCH_MISMATCH", message, fix: "take a build with a file for this host in its place" };
}

/** Nothing proves that a file runs in which nothing was found, except a wheel for any platform. */
function nothingFound({ unopened: [first] }: ImageInspection, { tags }: SystemNeeds): readonly Unproved[] {
  if (first === undefined && tags?.platforms.some(({ tag }) => tag === "any")) return [];
  return [
    needUnknown(first === undefined ? "it has no program and no GPU code" : `${first.path}: ${first.reason}`),
  ];
}

function byFiles(
  described: DescribedImage,
  image: OpenedImage,
  inspection: ImageInspection,
): Pick<KnownPart, "judgedBy" | "described" | "notes" | "inspection"> {
  try {
    const { undecided, compiledFor, notes, ...entry } = adoptedImage(image, {}, inspection);
    return {
      judgedBy: "files",
      described: { ...described, entry, compiledFor, undecided: undecided.map(needUnknown) },
      notes,
      inspection,
    };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const undecided = error.problems.map(({ message }) => needUnknown(message));
    if (error.problems.some(({ code }) => code !== "ADOPT_UNDECIDED"))
      return { judgedBy: "environment", described: { ...described, undecided }, notes: [], inspection };
    const { requires, gpus, compiledFor } = needsBesideGpu(image, inspection);
    const entry = { requires, adopted: { cpu: "estimated" } } as const;
    const needs = [
      ...gpus.map(({ vendor }) => `an ${vendorNames[vendor]} GPU`),
      ...describeRequirement(requires),
    ];
    return {
      judgedBy: "files",
      described: { ...described, entry, compiledFor, undecided, undecidedGpus: gpus },
      notes: needs.map((need) => `needs ${need}`),
      inspection,
    };
  }
}
