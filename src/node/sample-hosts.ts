/** Invented hosts with one GPU, for asking a rule where its answer changes. */

import type { ComputeCapability } from "../hardware/compute-capability.ts";
import { parseDriverVersion, parseVersion } from "../hardware/driver-version.ts";
import type { GpuClass } from "../hardware/gpu-class.ts";
import type { CudaRequirement } from "../lock/requirement.ts";
import { byVendor } from "../hardware/gpu-vendors.ts";
import { compatAdds, type CompatView, type NvidiaView } from "../resolve/nvidia-view.ts";
import type { HostView } from "../resolve/host-view.ts";
import { checkGpuCode } from "../resolve/rules/nvidia/gpu-code.ts";
import { type CodeFit, isMisfit } from "../resolve/verdict.ts";

/** Every state of a host's container runtime; null is unknown. */
export const runtimes = ["cdi", "legacy", "none", null] as const satisfies readonly HostView["runtime"][];

/** Everything that a container toolkit may do with an image's compatibility package. */
export const compatViews: readonly CompatView[] = [...compatAdds, null].flatMap((adds) =>
  [true, false].map((hostFirst) => ({ adds, hostFirst })),
);

interface SampleGpu {
  readonly scale?: NvidiaView["driverScale"];
  readonly module?: NvidiaView["module"];
  readonly class?: GpuClass;
  readonly compute?: ComputeCapability | null;
  readonly brand?: string | null;
  readonly compat?: CompatView;
}

export function sampleNvidia(
  driver: string,
  cudaVersion: string | null,
  {
    scale = "linux",
    module = null,
    class: gpuClass = "datacenter",
    compute = null,
    brand = null,
    compat = { adds: null, hostFirst: null },
  }: SampleGpu,
): NvidiaView {
  return {
    driver: parseDriverVersion(driver),
    hasDriver: true,
    driverText: driver,
    module,
    cuda: cudaVersion === null ? null : { text: cudaVersion, parts: parseVersion(cudaVersion) ?? [] },
    driverScale: scale,
    compat,
    gpus: [{ index: 0, label: "GPU 0", compute, class: gpuClass, integrated: null, brand }],
  };
}

export function sampleHost(nvidia: NvidiaView | null, runtime: HostView["runtime"] = null): HostView {
  return {
    platform: "linux/amd64",
    kernel: null,
    cpu: { model: null, level: null },
    features: null,
    unknownFeatures: new Set(),
    ...byVendor(() => null),
    nvidia,
    runtime,
    unknownGpuFacts: byVendor(() => []),
    broken: [],
    otherProblems: [],
  };
}

/** The code that such a GPU runs best; null if it runs none. `ptx` says whether the driver understands the image's PTX. */
export function bestCode(
  requirement: CudaRequirement,
  compute: ComputeCapability | null,
  ptx: boolean,
): CodeFit | null {
  const found = codeOn(requirement, compute, ptx);
  return isMisfit(found) ? null : (found[0] ?? null);
}

/** Some driver lets such a GPU run the image. */
export function servesGpu(requirement: CudaRequirement, compute: ComputeCapability | null): boolean {
  return !isMisfit(codeOn(requirement, compute, true));
}

function codeOn(requirement: CudaRequirement, compute: ComputeCapability | null, ptx: boolean) {
  const { gpus } = sampleNvidia("0", null, { compute });
  return checkGpuCode(
    requirement,
    { gpus },
    { ok: true, tier: "native", understands: () => ptx, cuda: null },
  );
}
