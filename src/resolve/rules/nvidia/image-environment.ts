/** Judges an image by the environment that NVIDIA's images and their children have. It can prove a no, and never a yes. */

import { driverBranch } from "../../../hardware/driver-version.ts";
import { driverFloor, findToolkit } from "../../../hardware/cuda-toolkits.ts";
import { compatAllowsClass, findCompatPackage } from "../../../hardware/forward-compat.ts";
import type { CudaRequirement } from "../../../lock/requirement.ts";
import type { HostView } from "../../host-view.ts";
import type { Misfit } from "../../verdict.ts";
import { checkDriver } from "./driver.ts";
import { checkNvidiaRequire } from "./nvidia-require.ts";

/** The expression that NVIDIA's runtime checks before it starts an image with this environment; null if there is none. */
export function requireOf(env: readonly string[]): string | null {
  return readCuda(env).require;
}

export interface CudaHints {
  /** The toolkit's version in NVIDIA's images and in images made from them. */
  readonly version: string | null;
  readonly require: string | null;
  /** The image asks NVIDIA's runtime for no GPU. */
  readonly withoutGpu: boolean;
}

export function readCuda(env: readonly string[]): CudaHints {
  // The last one counts, as in a process's environment.
  const values = new Map(env.map((pair) => [pair.split("=", 1)[0] ?? "", pair.slice(pair.indexOf("=") + 1)]));
  const version = values.get("CUDA_VERSION") || null;
  const disabled = /^(1|t|true)$/i.test(values.get("NVIDIA_DISABLE_REQUIRE") ?? "");
  return {
    version,
    require: disabled ? null : values.get("NVIDIA_REQUIRE_CUDA") || null,
    withoutGpu: /^(void|none)?$/.test(values.get("NVIDIA_VISIBLE_DEVICES") ?? "all"),
  };
}

export function judgeCuda(
  { version, require, withoutGpu }: CudaHints,
  view: HostView,
  unusable: Misfit | null,
): { readonly reasons: readonly Misfit[]; readonly unknown: readonly string[] } {
  if (version === null && require === null)
    return { reasons: [], unknown: ["whether its programs need a GPU"] };
  if (withoutGpu)
    return { reasons: [], unknown: ["whether its programs need a GPU: it has CUDA, and asks for no device"] };
  const unknown = ["for which GPUs its CUDA code was compiled"];
  const toolkit = version === null ? null : findToolkit(version);
  const minimum = toolkit === null ? null : (driverFloor(toolkit)?.minimum ?? null);
  if (unusable !== null) return { reasons: [unusable], unknown };
  if (minimum === null) {
    const what = version === null ? "its CUDA toolkit" : `which driver CUDA ${version} needs`;
    unknown.unshift(what);
  }
  const requirement: CudaRequirement = {
    toolkit: toolkit?.release ?? "0.0",
    code: [],
    driver: { mode: "host", minimum: minimum ?? "0" },
    ...(require === null ? {} : { require }),
  };
  const refused = checkNvidiaRequire(requirement, view);
  const service = minimum === null || view.nvidia === null ? null : checkDriver(requirement, view.nvidia);
  const tooOld = service === null || service.ok ? null : service;
  if (tooOld !== null && version !== null && mayBringDriver(version, view)) {
    unknown.unshift(
      `whether it brings NVIDIA's forward-compatibility package, without which: ${tooOld.message}`,
    );
    return { reasons: refused === null ? [] : [refused], unknown };
  }
  return { reasons: [refused, tooOld].filter((found) => found !== null), unknown };
}

/** NVIDIA's own images may hold the package without saying so. */
function mayBringDriver(version: string, { nvidia }: HostView): boolean {
  const compat = findCompatPackage(version);
  if (compat === null || nvidia === null || nvidia.driver === null || nvidia.driverScale !== "linux")
    return false;
  // The published lists disagree. One of them is enough to doubt a no.
  const branches = [...compat.branches, ...compat.images, ...(compat.enforced ?? [])];
  return (
    branches.includes(String(driverBranch(nvidia.driver))) &&
    nvidia.gpus.every((gpu) => compatAllowsClass(gpu.class) !== false)
  );
}
