/** Derives the needs of an image from its files, in the words of a lock's requirement. */

import { levelNeeded } from "../hardware/cpu-levels.ts";
import type { OnPath } from "../lock/requirement.ts";
import { type ImageAmd, undecidedAmd } from "./amd/amd-libraries.ts";
import { type CpuChoice, cpuChoices } from "./cpu/cpu-choices.ts";
import { atLeast, type ImageCpu } from "./cpu/cpu-need.ts";
import type { InspectedFile } from "./file-inspection.ts";
import { decidedFloor, measureFloor } from "./nvidia/driver-floor.ts";
import { gpuChoices } from "./nvidia/gpu-choices.ts";
import { applicationFiles, cudaTargets, type ImageGpu } from "./nvidia/gpu-inspection.ts";
import type { ImageDriver } from "./loader/compat-path.ts";

/** An unknown part is null, with the reason in `undecided`. */
export interface MeasuredRequirement {
  readonly cpu: {
    /** The lowest level that has every needed feature; null if none has. */
    readonly level: string | null;
    readonly features: readonly string[];
    /** Those of `features` that are an estimate: files were compiled for them, and nothing proves that they are needed. */
    readonly compiledFor: readonly string[];
  };
  readonly cuda: {
    readonly toolkit: string | null;
    readonly code: readonly string[];
    readonly driver: MeasuredDriver | null;
    /** The file whose compressed code needs a newer driver than the toolkit's major does. */
    readonly raisedBy: string | null;
  } | null;
  readonly kernel: string | null;
  /** An image may carry several CPU variants or CUDA majors and take one when it runs: each of them, best first. Else empty. */
  readonly choices: {
    readonly cpu: readonly (CpuChoice & { readonly level: string | null })[];
    readonly cuda: readonly MeasuredChoice[];
  };
  readonly undecided: readonly string[];
}

export interface MeasuredChoice extends NonNullable<MeasuredRequirement["cuda"]> {
  /** The name in the files' paths: `cuda_v12`. */
  readonly by: string;
  /** Paths, sorted. */
  readonly files: readonly string[];
}

export type MeasuredDriver =
  | { readonly mode: "host"; readonly minimum: string }
  | { readonly mode: "bundled"; readonly version: string }
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly onPath: OnPath | null;
      /** The driver branches in the note of its libcuda; null without a note. */
      readonly listed: readonly string[] | null;
      readonly minimum: string | null;
    };

/** The machines of an image whose code is not read. */
function unreadMachines(files: readonly InspectedFile[], { architecture }: ImageCpu): readonly string[] {
  if (architecture !== null) return [];
  const machines = files.flatMap(({ cpu, program }) =>
    cpu === null && program !== null ? [program.machine] : [],
  );
  const names = [...new Set(machines)].sort();
  if (names.length === 0) return [];
  return [`code for ${names.join(", ")} is not read: what it needs of a CPU is unknown`];
}

/** The application's files with GPU code, as {@link measureFloor} takes them. */
export function holdersOf(files: readonly InspectedFile[]) {
  return applicationFiles(files).map((file) => {
    return { path: file.path, gpu: file.gpu, needed: file.program?.needed ?? [], file };
  });
}

/** The beginning of a reason that a stated toolkit does not settle. */
export const undecidedPath = "whether the forward-compatibility package is loaded";

const ociNames: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

export function requirementOf(
  files: readonly InspectedFile[],
  {
    cpu,
    gpu,
    amd,
    driver,
  }: {
    readonly cpu: ImageCpu;
    readonly gpu: ImageGpu | null;
    readonly amd: ImageAmd | null;
    readonly driver: ImageDriver;
  },
): MeasuredRequirement {
  const holders = holdersOf(files);
  const floor = measureFloor(holders, driver);
  const choices = gpuChoices(holders, driver);
  const features = Object.keys(cpu.features).filter((name) => atLeast(cpu.features[name], "compiledFor"));
  const compiledFor = features.filter((name) => cpu.features[name] === "compiledFor");
  const undecided = [...unreadMachines(files, cpu), ...undecidedAmd(files, amd)];
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
  const levelOf = (needed: readonly string[]) => levelNeeded(ociNames[cpu.architecture ?? ""] ?? "", needed);
  return {
    cpu: { level: levelOf(features), features, compiledFor },
    cuda:
      gpu === null && bundled.length === 0
        ? null
        : {
            toolkit: measured?.toolkit ?? null,
            code: cudaTargets(files),
            driver: driverOf(bundled, driver, measured?.minimum ?? null),
            raisedBy: measured?.raisedBy ?? null,
          },
    kernel: cpu.kernel,
    choices: {
      cpu: cpuChoices(variantFiles(files, cpu), features).map((choice) => ({
        ...choice,
        level: levelOf(choice.features),
      })),
      cuda: chosen.map(({ by, files: members, toolkit, minimum, raisedBy }) => ({
        ...{ by, toolkit, raisedBy },
        code: cudaTargets(members.map(({ file }) => file)),
        driver: driverOf(bundled, driver, minimum),
        files: members.map(({ path }) => path).sort(),
      })),
    },
    undecided,
  };
}

/** Without the distribution's own variants: they serve every CPU. */
function variantFiles(files: readonly InspectedFile[], { architecture }: ImageCpu) {
  return files
    .filter((file) => file.package === null && file.cpu?.architecture === architecture)
    .map(({ path, cpu, program }) => ({ path, cpu, neededLevel: program?.neededLevel ?? null }));
}

function driverOf(
  bundled: readonly string[],
  driver: ImageDriver,
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
