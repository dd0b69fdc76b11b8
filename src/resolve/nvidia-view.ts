/** The NVIDIA side of a host, read once into the values that the rules compare. */

import { type ComputeCapability, parseComputeCapability } from "../hardware/compute-capability.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import {
  type CudaVersion,
  compareVersions,
  type DriverVersion,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
  parseVersion,
  type VersionParts,
} from "../hardware/driver-version.ts";
import type { GpuClass } from "../hardware/gpu-class.ts";
import type { DriverScale, GpuFacts, HostFacts, NvidiaFacts } from "../facts/facts.ts";
import { unknownNvidia } from "../facts/no-facts.ts";
import { packageCures, type PackageCures } from "../facts/toolkit-cures.ts";

export interface NvidiaView {
  /** A driver drives the cards. */
  readonly hasDriver: boolean;
  /** The driver itself lists the cards, whatever the tables say of it. */
  readonly starts?: boolean;
  /** null for a device without a driver, and for a version that cannot be read. */
  readonly driver: DriverVersion | null;
  /** The driver as the facts name it, for messages. */
  readonly driverText: string | null;
  readonly module: "open" | "proprietary" | null;
  /** The driver's CUDA version, by the driver's report or by its branch; null when neither is known. */
  readonly cuda: CudaVersion | null;
  /** The numbering of the driver's versions. */
  readonly driverScale: DriverScale;
  readonly gpus: readonly GpuView[];
  readonly compat: CompatView;
}

/** The treatment of an image's forward-compatibility package by this host's container toolkit. */
export interface CompatView {
  /** The packages that it puts before the host's library. null if unknown, or if it depends on the start of the container. */
  readonly adds: CompatAdds | null;
  /** The host's library comes before the folders of the image's `ld.so.conf`. null if unknown. */
  readonly hostFirst: boolean | null;
  /** By the toolkit's version. Absent where nobody reads cures. */
  readonly cures?: PackageCures;
}

/**
 * `newer`: a package of a newer branch than the driver's; `listed`: a newer package whose libcuda lists the driver's branch.
 */
export type CompatAdds = (typeof compatAdds)[number];
export const compatAdds = ["newer", "listed", "never"] as const;

export interface GpuView {
  readonly index: number;
  /** `GPU 0 (NVIDIA H100 80GB HBM3)` */
  readonly label: string;
  readonly compute: ComputeCapability | null;
  readonly class: GpuClass;
  readonly integrated: boolean | null;
  /** The name in `NVIDIA_REQUIRE_CUDA`; null if the facts do not prove it. */
  readonly brand: string | null;
  /** The brand under another driver: some brands depend on the branch. */
  readonly brandUnder?: (driver: DriverVersion) => string | null;
}

/**
 * nvidia-container-cli gives ldconfig the host's folder before all others. CDI writes it into `ld.so.conf.d`, and so does the NVIDIA runtime
 * since 1.18, but not `docker run --gpus`. The hook reads the note in libcuda since 1.20, and compared branches before, also in place of nvidia-container-cli. Sources: libnvidia-container, `src/nvc_ldcache.c`;
 * nvidia-container-toolkit, `internal/ldconfig`, `cmd/nvidia-cdi-hook/cudacompat`, CHANGELOG.md.
 */
function viewCompat({ nvidia, toolkit, compat }: HostFacts["runtime"]): CompatView {
  const version = toolkit === undefined ? null : parseVersion(toolkit);
  const since = (first: VersionParts) => (version === null ? null : compareVersions(version, first) >= 0);
  const isKnown = nvidia === "cdi" || nvidia === "legacy";
  const cures = packageCures({ nvidia, ...(toolkit !== undefined && { toolkit }) });
  if (!isKnown) return { adds: null, hostFirst: null, cures };
  const isNew = since([1, 18]);
  const hostFirst = nvidia === "cdi" ? false : isNew === null ? null : !isNew;
  const adds = (): CompatAdds | null => {
    if (compat === undefined) return null;
    if (compat === "disabled") return nvidia === "legacy" && isNew !== false ? null : "never";
    if (compat !== "hook") return "newer";
    const byNote = nvidia === "legacy" ? null : since([1, 20]);
    return byNote === null ? null : byNote ? "listed" : "newer";
  };
  return { adds: adds(), hostFirst, cures };
}

export function viewNvidia(facts: HostFacts): NvidiaView | null {
  const { nvidia } = facts;
  if (nvidia == null) return null;
  const driverScale = scaleOf(nvidia);
  const driver = nvidia.driver === null ? null : parseDriverVersion(nvidia.driver);
  const reported = nvidia.cuda === null ? null : parseCudaVersion(nvidia.cuda);
  const byBranch = driver === null || driverScale !== "linux" ? null : cudaOfDriver(driver.text);
  return {
    driver,
    hasDriver: nvidia.driver !== null,
    ...(nvidia.starts && { starts: true }),
    driverText: nvidia.driver,
    module: nvidia.module,
    cuda: reported ?? (byBranch === null ? null : parseCudaVersion(byBranch)),
    driverScale,
    compat: viewCompat(facts.runtime),
    gpus: nvidia.gpus.map((gpu) => ({
      index: gpu.index,
      label: gpu.name === null ? `GPU ${gpu.index}` : `GPU ${gpu.index} (${gpu.name})`,
      compute: gpu.compute === null ? null : parseComputeCapability(gpu.compute),
      class: gpu.class,
      integrated: gpu.integrated,
      brand: brandOf(gpu, driverScale === "linux" ? driver : null),
      brandUnder: (other) => brandOf(gpu, driverScale === "linux" ? other : null),
    })),
  };
}

export function unknownNvidiaFacts({ nvidia }: HostFacts): readonly string[] {
  if (nvidia === undefined) return ["nvidia"];
  const { unknown = [], driver, gpus } = nvidia ?? unknownNvidia;
  // Without a driver no image with GPU code runs, whatever the GPU is.
  const ofGpus =
    driver === null
      ? []
      : gpus.flatMap(({ compute }, at) => (compute === null ? [`gpus[${at}].compute`] : []));
  return [...unknown, ...ofGpus].map((fact) => `nvidia.${fact}`);
}

function scaleOf({ driverScale, gpus }: NvidiaFacts): DriverScale {
  if (driverScale !== undefined) return driverScale;
  return gpus.length > 0 && gpus.every((gpu) => gpu.class === "tegra") ? "l4t" : "linux";
}

/**
 * Facts have no brand, so it is read from the product's name. null if name and driver do not decide it.
 * Data-centre cards were `Tesla` and became `NVIDIA`: drivers up to R440 print the first, from R515 on the second
 * (`product_brand` in nvidia-smi's XML of a Tesla T4, an A10G, an A100 and an H100), between them it is not known.
 */
export function brandOf(gpu: Pick<GpuFacts, "name" | "class">, driver: DriverVersion | null): string | null {
  const name = gpu.name?.replace(/^NVIDIA\s+/i, "") ?? "";
  const named = brandsByName.find(([pattern]) => pattern.test(name));
  if (named !== undefined) return named[1];
  if (gpu.class !== "datacenter" || driver === null) return null;
  const branch = driverBranch(driver);
  if (branch <= 440) return "tesla";
  return branch >= 515 ? "nvidia" : null;
}

/** Source: `product_brand` beside `product_name` in captured nvidia-smi XML (RTX 3090, RTX 4000 SFF Ada, Quadro P2000). */
export const brandsByName: readonly (readonly [RegExp, string])[] = [
  [/^GeForce\b/i, "geforce"],
  [/^TITAN\b/i, "titan"],
  [/^Quadro RTX\b/i, "quadrortx"],
  [/^Quadro\b/i, "quadro"],
  [/^RTX\b/i, "nvidiartx"],
  [/^NVS\b/i, "nvs"],
];
