/** The findings in an image: per file, in all, and its needs from a host. The JSON of `imgmatch inspect --json`. */

import { levelNeeded } from "../hardware/cpu-marches.ts";
import { compareVersions } from "../hardware/driver-version.ts";
import type { OnPath } from "../hardware/requirement.ts";
import { compareFirst } from "../io/collections.ts";
import { amdOf, type ImageAmd } from "./amd/amd-libraries.ts";
import { type CpuNeed, findCpuNeed } from "./cpu/cpu-need.ts";
import { type CpuChoice, cpuChoices } from "./cpu/cpu-choices.ts";
import { variantsAmong } from "./cpu/dispatch.ts";
import { type DriverFiles, driverFiles } from "./gpu/driver-files.ts";
import { decidedFloor, measureFloor } from "./gpu/driver-floor.ts";
import { gpuChoices } from "./gpu/gpu-choices.ts";
import { compareTargets, type TargetCount } from "./gpu/gpu-inspection.ts";
import { type CompatPath, compatPath } from "./loader/compat-path.ts";
import { filesOfLayers } from "./image/file-tree.ts";
import type { OpenedImage } from "./image/open-layers.ts";
import type { FileInspection } from "./file-inspection.ts";
import { count } from "./tally.ts";
import { unchangedFiles } from "./packages/unchanged-files.ts";

const inspectionSchemaVersion = 1;

export interface ImageInspection {
  readonly schemaVersion: typeof inspectionSchemaVersion;
  /** As it was asked for. */
  readonly subject: string;
  readonly source: OpenedImage["source"];
  readonly digest: string | null;
  readonly platform: string | null;
  readonly layers: readonly ImageLayer[];
  readonly cpu: ImageCpu;
  /** null for an image without GPU code for NVIDIA. */
  readonly gpu: ImageGpu | null;
  /** null for an image without GPU code for AMD. */
  readonly amd: ImageAmd | null;
  readonly driver: DriverFiles & {
    /** Whether the image's loader finds the forward-compatibility package; null for an image without one. */
    readonly compatPath: CompatPath | null;
  };
  readonly requires: MeasuredRequirement;
  readonly unopened: readonly { readonly path: string; readonly layer: number; readonly reason: string }[];
  /** Package databases that could not be read: which files are a package's is not known, so that they count as the image's own. */
  readonly unreadPackages: readonly {
    readonly path: string;
    readonly layer: number;
    readonly reason: string;
  }[];
  readonly files: readonly InspectedFile[];
}

export interface ImageLayer {
  readonly digest: string | null;
  /** Of its uncompressed archive: the same in a base image and in the images on it. */
  readonly diffId: string | null;
  /** Unpacked, in bytes. */
  readonly size: number;
}

export interface ImageCpu {
  /** `x86_64`, `aarch64`; null where no program says it. */
  readonly architecture: string | null;
  /** Union over the files of this architecture. */
  readonly features: CpuNeed["features"];
  /** Levels for which files lie in `glibc-hwcaps`. */
  readonly hwcaps: readonly string[];
  /** Oldest kernel by the notes of its programs. */
  readonly kernel: string | null;
}

interface ModuleCounts {
  readonly modules: number;
  readonly relocatable: number;
}

export interface ImageGpu {
  /**
   * `files`: in how many files; `modules`: in how many modules of them together, as a file's own `targets` count; `relocatable`: in how
   * many more that the device linker left, of whose PTX the driver takes what it can.
   */
  readonly targets: readonly ({ readonly target: string; readonly files: number } & ModuleCounts)[];
  readonly lto: readonly string[];
  /** Kinds of code that this version does not know: any target may be in them. */
  readonly unknownKinds: readonly number[];
}

export interface InspectedFile extends FileInspection {
  readonly path: string;
  readonly layer: number;
  readonly answer: CpuNeed | null;
  /** The distribution's package that brought this very file, by the checksum in its database; null where none did. */
  readonly package: string | null;
}

/** In the words of a lock's requirement. An unknown part is null, with the reason in `undecided`. */
export interface MeasuredRequirement {
  readonly cpu: {
    /** The lowest level that has every needed feature; null where none has. */
    readonly level: string | null;
    readonly features: readonly string[];
  };
  readonly cuda: {
    readonly toolkit: string | null;
    readonly code: readonly string[];
    readonly driver: MeasuredDriver | null;
    /** The compressed code that raises the oldest driver above that of the toolkit's major, and its file. */
    readonly raisedBy: string | null;
  } | null;
  readonly kernel: string | null;
  /** Each of several of a kind that the image carries, best first: it takes one when it runs. Empty for a kind of which it has one. */
  readonly choices: {
    readonly cpu: readonly (CpuChoice & { readonly level: string | null })[];
    readonly cuda: readonly MeasuredChoice[];
  };
  readonly undecided: readonly string[];
}

/** `files`: the paths that say it. */
export interface MeasuredChoice extends NonNullable<MeasuredRequirement["cuda"]> {
  readonly by: string;
  readonly files: readonly string[];
}

export type MeasuredDriver =
  | { readonly mode: "host"; readonly minimum: string }
  | { readonly mode: "bundled"; readonly version: string }
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly onPath: OnPath | null;
      /** Branches of drivers in the note of its libcuda; null where it has none. */
      readonly listed: readonly string[] | null;
      readonly minimum: string | null;
    };

/** Puts the opened layers of an image together. Pure. */
export function inspectionOf(image: OpenedImage): ImageInspection {
  const found = filesOfLayers(image.layers);
  const packageOf = unchangedFiles(found.packages);
  const variants = variantsAmong(found.files.map(({ path }) => path));
  const files = found.files.map(({ path, layer, inspection }): InspectedFile => {
    const { cpu, program, checksums } = inspection;
    const answer = cpu && findCpuNeed(cpu, variants.has(path), program?.neededLevel ?? null);
    return { path, layer, ...inspection, answer, package: packageOf(path, checksums) };
  });
  const libraries = driverFiles(files.map(({ path }) => path));
  const driver = {
    ...libraries,
    compatPath: compatPath({
      ...{ compat: libraries.compat, loader: found.loader, realPath: found.realPath, start: image.start },
      programs: files.flatMap(({ path, program }) => (program === null ? [] : [{ path, ...program }])),
    }),
  };
  const unopened = [
    ...found.unopened,
    ...files.flatMap(({ path, layer, unopened: reasons }) =>
      reasons.map((reason) => ({ path, layer, reason })),
    ),
  ].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const cpu = cpuOf(files, image.platform);
  const gpu = gpuOf(files);
  const amd = amdOf(files);
  return {
    schemaVersion: inspectionSchemaVersion,
    subject: image.name,
    ...{ source: image.source, digest: image.digest, platform: image.platform },
    layers: image.layers.map(({ digest, size }, index) => ({
      digest,
      diffId: image.diffIds?.length === image.layers.length ? (image.diffIds[index] ?? null) : null,
      size,
    })),
    ...{ cpu, gpu, amd, driver },
    requires: requirementOf(files, { cpu, gpu, amd, driver }),
    unopened,
    unreadPackages: found.unread,
    files,
  };
}

function cpuOf(files: readonly InspectedFile[], platform: string | null): ImageCpu {
  const architecture = architectureOf(files, platform);
  const features = new Map<string, "needed" | "mayBeUsed">();
  for (const { answer, cpu } of files.filter((file) => file.cpu?.architecture === architecture)) {
    if (cpu === null) continue;
    for (const [name, use] of Object.entries(answer?.features ?? {}))
      if (use === "needed" || !features.has(name)) features.set(name, use);
  }
  const hwcaps = files.map(({ path }) => /(?:^|\/)glibc-hwcaps\/([^/]+)\//.exec(path)?.[1] ?? "");
  const kernels = files.map(({ program }) => program?.kernel ?? null).filter((kernel) => kernel !== null);
  return {
    architecture,
    features: Object.fromEntries([...features].sort(compareFirst)),
    hwcaps: [...new Set(hwcaps.filter(Boolean))].sort(),
    kernel: kernels.length === 0 ? null : kernels.reduce((a, b) => (compareKernels(a, b) >= 0 ? a : b)),
  };
}

const architectures: Readonly<Record<string, string>> = { amd64: "x86_64", arm64: "aarch64", "386": "x86" };
/** Of those with levels. */
const ociNames: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/** Of the platform, null where code for it is not read; where nothing says the platform, of most programs. */
function architectureOf(files: readonly InspectedFile[], platform: string | null): string | null {
  if (platform !== null) return architectures[platform.split("/")[1] ?? ""] ?? null;
  const counts = new Map<string, number>();
  for (const { cpu } of files) if (cpu !== null) count(counts, cpu.architecture);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

function modulesWith(target: string, counts: readonly TargetCount[]): number {
  return counts.find((each) => each.target === target)?.modules ?? 0;
}

/** null for files without GPU code. */
export function gpuOf(files: readonly InspectedFile[]): ImageGpu | null {
  const codes = files.flatMap(({ gpu }) => (gpu === null ? [] : [gpu]));
  if (codes.length === 0) return null;
  const targets = new Map<string, { files: number } & ModuleCounts>();
  for (const { targets: own, relocatable } of codes) {
    // Of what the device linker left, the driver takes the PTX.
    const left = relocatable.filter(({ target }) => target.startsWith("compute_"));
    for (const name of new Set([...own, ...left].map(({ target }) => target))) {
      const before = targets.get(name) ?? { files: 0, modules: 0, relocatable: 0 };
      targets.set(name, {
        files: before.files + 1,
        modules: before.modules + modulesWith(name, own),
        relocatable: before.relocatable + modulesWith(name, left),
      });
    }
  }
  return {
    targets: [...targets]
      .map(([target, counts]) => ({ target, ...counts }))
      .sort((a, b) => compareTargets(a.target, b.target)),
    lto: [...new Set(codes.flatMap(({ lto }) => lto.map(({ target }) => target)))].sort(compareTargets),
    unknownKinds: [...new Set(codes.flatMap(({ unknown }) => unknown.map(({ kind }) => kind)))].sort(
      (a, b) => a - b,
    ),
  };
}

/** Of an image whose own code is not read: the machines that its programs are for. */
function unreadMachines(files: readonly InspectedFile[], { architecture }: ImageCpu): readonly string[] {
  if (architecture !== null) return [];
  const machines = files.flatMap(({ cpu, program }) =>
    cpu === null && program !== null ? [program.machine] : [],
  );
  const names = [...new Set(machines)].sort();
  if (names.length === 0) return [];
  return [`code for ${names.join(", ")} is not read: what it needs of a CPU is unknown`];
}

function unreadAmd(files: readonly InspectedFile[], amd: ImageAmd | null): readonly string[] {
  const unknown = amd?.unknown ?? [];
  return [
    ...(unknown.length === 0
      ? []
      : [`GPU code for AMD that is not known (${unknown.join(", ")}): more targets may be there`]),
    ...(files.some(({ amd: code }) => (code?.damage ?? []).length > 0)
      ? ["GPU code for AMD that was not read: more targets may be there"]
      : []),
  ];
}

/** Files with GPU code, as the search for their driver sees them. */
export function holdersOf(files: readonly InspectedFile[]) {
  return files.flatMap((file) =>
    file.gpu === null ? [] : [{ path: file.path, gpu: file.gpu, needed: file.program?.needed ?? [], file }],
  );
}

/** How the reason begins that no statement of a toolkit answers. */
export const undecidedPath = "whether the forward-compatibility package is loaded";

function requirementOf(
  files: readonly InspectedFile[],
  { cpu, gpu, amd, driver }: Pick<ImageInspection, "cpu" | "gpu" | "amd" | "driver">,
): MeasuredRequirement {
  const holders = holdersOf(files);
  const floor = measureFloor(holders, driver);
  const choices = gpuChoices(holders, driver);
  const features = Object.keys(cpu.features).filter((name) => cpu.features[name] === "needed");
  const undecided = [...unreadMachines(files, cpu), ...unreadAmd(files, amd)];
  const chosen = "unknown" in choices ? [] : choices.choices;
  if (floor !== null && "unknown" in floor && chosen.length === 0)
    undecided.push("unknown" in choices ? `${floor.unknown}: ${choices.unknown}` : floor.unknown);
  if (gpu !== null && gpu.unknownKinds.length > 0)
    undecided.push(`GPU code of unknown kind (${gpu.unknownKinds.join(", ")}): more targets may be there`);
  const measured = decidedFloor(floor);
  const bundled = [...new Set(driver.bundled.map(({ version }) => version))];
  const path = driver.compatPath;
  if (path !== null && path.onPath === null && bundled.length === 0)
    undecided.push(`${undecidedPath}: ${path.reason}`);
  if (bundled.length > 1) undecided.push(`several user-space drivers: ${bundled.join(", ")}`);
  return {
    cpu: { level: levelNeeded(ociNames[cpu.architecture ?? ""] ?? "", features), features },
    cuda:
      gpu === null && bundled.length === 0
        ? null
        : {
            toolkit: measured?.toolkit ?? null,
            code: gpu?.targets.map(({ target }) => target) ?? [],
            driver: driverOf(bundled, driver, measured?.minimum ?? null),
            raisedBy: measured?.raisedBy ?? null,
          },
    kernel: cpu.kernel,
    choices: {
      cpu: cpuChoices(variantFiles(files, cpu), features).map((choice) => ({
        ...choice,
        level: levelNeeded(ociNames[cpu.architecture ?? ""] ?? "", choice.features),
      })),
      cuda: chosen.map(({ by, files: members, toolkit, minimum, raisedBy }) => ({
        ...{ by, toolkit, raisedBy },
        code: gpuOf(members.map(({ file }) => file))?.targets.map(({ target }) => target) ?? [],
        driver: driverOf(bundled, driver, minimum),
        files: members.map(({ path }) => path).sort(),
      })),
    },
    undecided,
  };
}

/** A distribution's own variants are for every CPU that it runs on. */
function variantFiles(files: readonly InspectedFile[], { architecture }: ImageCpu) {
  return files
    .filter((file) => file.package === null && file.cpu?.architecture === architecture)
    .map(({ path, cpu, program }) => ({ path, cpu, neededLevel: program?.neededLevel ?? null }));
}

function driverOf(
  bundled: readonly string[],
  driver: ImageInspection["driver"],
  minimum: string | null,
): MeasuredDriver | null {
  const [version] = bundled;
  if (version !== undefined) return bundled.length === 1 ? { mode: "bundled", version } : null;
  const path = driver.compatPath;
  const compat = driver.compat.find((file) => file.path === path?.loaded) ?? driver.compat[0];
  const isDead = path !== null && path.onPath === "never" && !path.isMountable;
  if (compat !== undefined && !isDead)
    return {
      mode: "compat",
      package: compat.version,
      onPath: path?.onPath ?? null,
      listed: path?.listed ?? null,
      minimum,
    };
  return minimum === null ? null : { mode: "host", minimum };
}

function compareKernels(a: string, b: string): number {
  return compareVersions(a.split(".").map(Number), b.split(".").map(Number));
}
