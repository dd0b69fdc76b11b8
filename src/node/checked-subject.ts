/** Finds the subject of a check, and the best source of its needs: a lock, a fleet's index, its label, its files. */

import { ImgmatchError } from "../errors.ts";
import { requiresLabel } from "../fleet/dockerfile/metadata.ts";
import { adoptedImage, needsBesideGpu } from "../inspect/adopt/adopted-image.ts";
import { type InspectedFile, noCode } from "../inspect/file-inspection.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import type { ImageSourceKind, OpenedImage } from "../inspect/image/open-layers.ts";
import { type ImageInspection, type SummedFiles, sumUp, surveyOf } from "../inspect/inspection.ts";
import { openOptions, openSubject, pathOfSubject } from "../inspect/open-subject.ts";
import type { OpenEvent } from "../lock/statement.ts";
import { type GpuUse, gpuOfPackage, linkedFiles } from "../inspect/packages/gpu-use.ts";
import { judgeArchitecture } from "../inspect/packages/judge-architectures.ts";
import { packagesOf } from "../inspect/packages/packages-of.ts";
import { bringsLibc, type SystemNeeds, systemNeedsOf } from "../inspect/system-needs.ts";
import { count } from "../io/table.ts";
import { note, type Watching, type World } from "../io/world.ts";
import { fetchFleet } from "../lock/store/fetch-lock.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/store/lock-file.ts";
import { parseRequirement } from "../lock/parse-requirement.ts";
import { vendorNames } from "../hardware/gpu-vendors.ts";
import { vouchForImage } from "../lock/store/vouch-for-image.ts";
import { isDigest } from "../oci/digest.ts";
import { formatImageReference, parseImageReference, withDigest } from "../oci/reference.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { type DescribedImage, needUnknown, type Unproved } from "../resolve/check-image.ts";
import { describeRequirement } from "../resolve/describe-measured.ts";
import { checkPlatform } from "../resolve/rules/platform.ts";
import { asksTrust } from "../trust/asks-trust.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { signatureTrustFor } from "../trust/trust-demands.ts";
import { refuseUnsignedPath } from "./refuse-unsigned-path.ts";

/** A subject for one platform, with its needs. */
export interface KnownSubject {
  /** The name as the caller wrote it, with `latest` in place of a missing tag. */
  readonly subject: string;
  readonly source: ImageSourceKind;
  readonly digest: string | null;
  readonly signed: SignedBy | null;
  /** The packages of its files; one part for a subject that is not judged by its files. */
  readonly parts: readonly [KnownPart, ...KnownPart[]];
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
  /** How its files use a GPU, and the part without its code for GPUs; null if no file was opened, or if it has none. */
  readonly gpu: { readonly use: Exclude<GpuUse, "none">; readonly cpuSide: () => KnownPart } | null;
}

/** An index that imgmatch wrote: each host takes one of its images. */
export interface KnownFleet {
  readonly subject: string;
  readonly lock: Lock;
  readonly signed: SignedBy | null;
}

export interface SubjectRequest {
  readonly registry: FullRegistryClient;
  /** Its entry counts before the image's label. Default: `images/imgmatch.lock.json`, if it exists. */
  readonly lock: string | undefined;
  readonly demands: SignatureDemands;
  /** This machine would run the image of its engine, another machine would pull the image. */
  readonly first: "engine" | "registry";
  readonly onEvent: Watching<OpenEvent>["onEvent"];
  readonly world: World & RootSource;
}

export async function knownSubject(
  subject: string,
  platform: string,
  request: SubjectRequest,
): Promise<KnownSubject | KnownFleet> {
  const { registry, lock, demands, first, world } = request;
  if (pathOfSubject(subject, world.cwd) !== null) {
    await refuseUnsignedPath(subject, demands, world);
    return ofOpened(await open(subject, platform, request), subject, platform, lock);
  }
  const image = await findImage(subject, { env: world.env, registry, platform, first });
  if (image.source === "index") {
    const trust = await signatureTrustFor(demands, world);
    const tell = (line: string) => note(world, [line]);
    const asked = { connect: async () => registry, trust, tell };
    const fleet = await fetchFleet(image.reference, asked);
    return { subject: formatImageReference(image.reference), lock: fleet.lock, signed: fleet.signed };
  }
  const { source, digest, labels, env } = image;
  const known = { subject: image.reference, source, digest, signed: await vouch(image, request) };
  const described = { platform: image.platform, requires: labels[requiresLabel] ?? null, env };
  const named = source === "registry" ? parseImageReference(image.reference).digest : null;
  const said = await saidOf(described, [digest, named], lock);
  if (said !== null) return { ...known, parts: [said] };
  // The files of another platform's image decide nothing.
  if (checkPlatform(image.platform, { platform }) !== null)
    return { ...known, parts: [{ ...unopened, judgedBy: "environment", described }] };
  // The tag may move meanwhile, the digest does not.
  const name =
    source === "registry" && isDigest(digest)
      ? formatImageReference(withDigest(parseImageReference(image.reference), digest))
      : image.reference;
  const opened = await open(name, image.platform, request, source);
  return { ...known, parts: partsOf(opened, described, null) };
}

const unopened = {
  ...{ name: "", version: null, notes: [], inspection: null, system: null, elsewhere: null, gpu: null },
} as const;

function open(
  name: string,
  platform: string,
  { registry, onEvent, world }: SubjectRequest,
  from?: FoundImage["source"],
): Promise<OpenedImage> {
  const options = { ...openOptions({ platform, onEvent }, world), env: world.env, registry };
  return openSubject(name, world.cwd, { ...options, ...(from && { from }) });
}

const archives: readonly ImageSourceKind[] = ["archive", "layout"];

/** An archive or a layout is an image. A file or a folder is for the platforms of its programs. */
async function ofOpened(
  opened: OpenedImage,
  subject: string,
  host: string,
  lock: string | undefined,
): Promise<KnownSubject> {
  const { source, digest, labels = {}, start } = opened;
  const known = { subject, source, digest, signed: null };
  const env = Object.entries(start?.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const described = { platform: opened.platform ?? host, requires: labels[requiresLabel] ?? null, env };
  if (!archives.includes(source)) {
    const [first, ...others] = partsOf(opened, described, subject);
    const gone = opened.vanished ?? 0;
    const notes = gone === 0 ? [] : [`${count(gone, "file")} vanished while the folder was read`];
    return { ...known, parts: [{ ...first, notes: [...first.notes, ...notes] }, ...others] };
  }
  const said = await saidOf(described, [digest], lock);
  if (said !== null) return { ...known, parts: [said] };
  return { ...known, parts: partsOf(opened, described, null) };
}

/**
 * Judges each package by its own files, and by the libraries of others that its files link.
 *
 * @param described its platform is the host's where `opened` has none
 * @param path of a subject that runs on the host's own system; null for an image
 */
function partsOf(opened: OpenedImage, described: DescribedImage, path: string | null): KnownSubject["parts"] {
  const survey = surveyOf(opened);
  const linkedOf = linkedFiles(survey.files);
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
      const system = path === null ? null : systemNeedsOf(path, hasLibc ? [] : files);
      const judge = (summed: SummedFiles): KnownPart => {
        const inspection = sumUp(image, survey.unread, summed);
        const answer = byFiles({ ...described, platform }, image, inspection);
        const open = [
          ...(answer.described.undecided ?? []),
          ...undecided.map(elsewhereUnproved),
          ...(undecided.length === 0 && system !== null && survey.files.length === 0
            ? nothingFound(inspection, system)
            : []),
        ];
        return {
          ...{ name, version, judgedBy: answer.judgedBy, notes: answer.notes, inspection, system },
          ...{ described: { ...answer.described, undecided: open }, elsewhere: file, gpu: null },
        };
      };
      const whole = { files, unopened: unread, driver: isOfDriver ? driver : { ...driver, ...noDriver } };
      if (use === "none") return judge(whole);
      const forCpu = { ...whole, files: files.map(withoutGpu), driver: { ...driver, ...noDriver } };
      return { ...judge(whole), gpu: { use, cpuSide: () => judge(forCpu) } };
    },
  );
  const [first, ...others] = parts;
  if (first !== undefined) return [first, ...others];
  const system = path === null ? null : systemNeedsOf(path, []);
  const nothing = { files: [], unopened: [], driver: { ...driver, ...noDriver } };
  const inspection = sumUp(opened, survey.unread, nothing);
  const answer = byFiles(described, { ...opened, platform: described.platform }, inspection);
  const open = system === null || survey.files.length > 0 ? [] : nothingFound(inspection, system);
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

/** What a lock or a label says of an image; null if neither does. A lock's entry is found by digest only: a tag may have moved. */
async function saidOf(
  described: DescribedImage,
  digests: readonly (string | null)[],
  file: string | undefined,
): Promise<KnownPart | null> {
  const lock = await (file === undefined ? readLockIfPresent(lockPath) : readLock(file));
  const found = Object.values(lock?.images ?? {}).filter(
    ({ digest }) => digest !== null && digests.includes(digest),
  );
  const [entry] = found;
  if (found.length === 1 && entry !== undefined)
    return { ...unopened, judgedBy: "lock", described: { ...described, entry } };
  const { requires } = described;
  return requires !== null && parseRequirement(requires).ok
    ? { ...unopened, judgedBy: "label", described }
    : null;
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

/** An image in the engine needs a signature only if a flag demands one: it is here already. */
async function vouch(
  { source, reference, digest }: FoundImage,
  { registry, demands, world }: SubjectRequest,
): Promise<SignedBy | null> {
  if (source === "engine" && !asksTrust(demands)) return null;
  const trust = await signatureTrustFor(demands, world);
  if (trust === null) return null;
  if (!isDigest(digest))
    throw new ImgmatchError({
      code: "SIGNATURE_MISSING",
      message: `${reference} was never pushed from or pulled to this engine: it has no digest, so no signature either`,
      fix: "push it and have it signed",
    });
  return vouchForImage(parseImageReference(reference), digest, { registry, trust });
}
