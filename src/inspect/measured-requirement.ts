/** Derives the needs of an image from its files, in the words of a lock's requirement. */

import { levelNeeded } from "../hardware/cpu-levels.ts";
import { type ImageAmd, undecidedAmd } from "./amd/amd-libraries.ts";
import { type CpuChoice, cpuChoices } from "./cpu/cpu-choices.ts";
import { atLeast, type FeatureNeed, type ImageCpu } from "./cpu/cpu-need.ts";
import type { InspectedFile } from "./file-inspection.ts";
import type { ImageGpu } from "./nvidia/gpu-inspection.ts";
import { type MeasuredDriver, measureCuda, type PackagesWithCode } from "./nvidia/measured-cuda.ts";
import type { ImageDriver } from "./loader/compat-path.ts";

/** An unknown part is null, with the reason in `undecided`. */
export interface MeasuredRequirement {
  readonly cpu: {
    /** The lowest level that has every needed feature; null if none has. */
    readonly level: string | null;
    readonly features: readonly string[];
    /** Those of `features` that are an estimate: files were compiled for them, and nothing proves that they are needed. */
    readonly compiledFor: readonly string[];
    /** Those of `features` of which nothing tells whether files need them. */
    readonly undecided: readonly string[];
  };
  readonly cuda: {
    readonly toolkit: string | null;
    readonly code: readonly string[];
    readonly driver: MeasuredDriver | null;
    /** The file with the newest toolkit's code; null if the runtime library decides the toolkit, or if it is unknown. */
    readonly toolkitFile: string | null;
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
  packages: PackagesWithCode = () => [],
): MeasuredRequirement {
  const features = Object.keys(cpu.features).filter((name) => atLeast(cpu.features[name], "undecided"));
  const all = (need: FeatureNeed) => features.filter((name) => cpu.features[name] === need);
  const nvidia = measureCuda(files, gpu, driver, packages);
  const isOwn = (file: InspectedFile) => file.package === null && file.cpu?.architecture === cpu.architecture;
  const levelOf = (needed: readonly string[]) => levelNeeded(ociNames[cpu.architecture ?? ""] ?? "", needed);
  return {
    cpu: { level: levelOf(features), features, compiledFor: all("compiledFor"), undecided: all("undecided") },
    cuda: nvidia.cuda,
    kernel: cpu.kernel,
    choices: {
      // Without the distribution's own variants: they serve every CPU.
      cpu: cpuChoices(files.filter(isOwn), features).map((choice) => ({
        ...choice,
        level: levelOf(choice.features),
      })),
      cuda: nvidia.choices,
    },
    undecided: [...unreadMachines(files, cpu), ...undecidedAmd(files, amd), ...nvidia.undecided],
  };
}
