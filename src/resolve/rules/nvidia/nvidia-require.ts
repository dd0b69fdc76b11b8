/** Rule: the base image's `NVIDIA_REQUIRE_CUDA` expression holds, if the host's container runtime checks it. */

import type { CudaRequirement } from "../../../lock/requirement.ts";
import type { GpuView, NvidiaView } from "../../nvidia-view.ts";
import type { HostView } from "../../host-view.ts";
import { byHand, misfit } from "../../misfit.ts";
import { otherDriver } from "./driver-cures.ts";
import { evaluateRequire, parseRequire, type RequireSubject } from "./parse-nvidia-require.ts";
import type { Misfit } from "../../verdict.ts";
import type { RuleThresholds } from "../rule.ts";

type RequireView = Pick<HostView, "nvidia" | "runtime">;

export function checkNvidiaRequire(requirement: CudaRequirement, host: RequireView): Misfit | null {
  return isEnforced(requirement, host) ? findUnsatisfied(requirement, host) : null;
}

/** The same finding if nothing checks it: worth a line, no reason to refuse. */
export function noteNvidiaRequire(requirement: CudaRequirement, host: RequireView): Misfit | null {
  return isEnforced(requirement, host) ? null : findUnsatisfied(requirement, host);
}

/**
 * The legacy runtime checks the expression before it starts the container. CDI has no such check, and a bundled driver does not go through the
 * runtime. An unknown runtime may be the legacy one.
 */
export function isEnforced({ driver }: CudaRequirement, { runtime }: Pick<HostView, "runtime">): boolean {
  return driver.mode !== "bundled" && (runtime === "legacy" || runtime === null);
}

function findUnsatisfied({ require }: CudaRequirement, { nvidia }: RequireView): Misfit | null {
  if (require === undefined || nvidia === null) return null;
  const expression = parseRequire(require);
  if (expression === null) {
    return misfit(
      "NVIDIA_REQUIRE_UNSATISFIED",
      `NVIDIA_REQUIRE_CUDA "${shorten(require)}" is not an expression that the container runtime reads`,
      "correct NVIDIA_REQUIRE_CUDA in the base image, or set NVIDIA_DISABLE_REQUIRE=true",
    );
  }
  for (const gpu of nvidia.gpus) {
    const holds = evaluateRequire(expression, subjectOf(gpu, nvidia));
    if (holds === true) continue;
    const cuda = nvidia.cuda?.text ?? "unknown";
    const offer = `cuda=${cuda} driver=${nvidia.driverText ?? "unknown"} arch=${gpu.compute === null ? "unknown" : `${gpu.compute.major}.${gpu.compute.minor}`} brand=${gpu.brand ?? "unknown"}`;
    const verb = holds === false ? "does not hold" : "cannot be proved";
    return misfit(
      "NVIDIA_REQUIRE_UNSATISFIED",
      `NVIDIA_REQUIRE_CUDA "${shorten(require)}" ${verb} for ${gpu.label}: ${offer}`,
      [
        // workingCures finds the driver.
        otherDriver(
          `update the driver so that ${shorten(require.split(" ")[0] ?? require)} holds (CUDA ${cuda} here)`,
          nvidia.driverText ?? "0",
          true,
        ),
        byHand("set NVIDIA_DISABLE_REQUIRE=true if you know better"),
      ],
    );
  }
  return null;
}

/** The versions in the expression: the answer can change at each. */
export function requireThresholds({ require }: CudaRequirement): RuleThresholds {
  const conditions = parseRequire(require ?? "")?.alternatives.flat() ?? [];
  const versionsOf = (name: keyof RequireSubject) =>
    conditions.filter(({ property }) => property === name).map(({ value }) => value);
  return { drivers: versionsOf("driver"), cudas: versionsOf("cuda"), after: true };
}

/** The values of a GPU under its driver that an expression compares. */
export function subjectOf(
  gpu: Pick<GpuView, "compute" | "brand">,
  { cuda, driver, driverScale }: NvidiaView,
): RequireSubject {
  return {
    cuda: cuda?.parts ?? null,
    driver: driverScale === "linux" ? (driver?.parts ?? null) : null,
    arch: gpu.compute === null ? null : [gpu.compute.major, gpu.compute.minor],
    brand: gpu.brand,
  };
}

/** Expressions of NVIDIA's images have up to a thousand characters. */
function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}
