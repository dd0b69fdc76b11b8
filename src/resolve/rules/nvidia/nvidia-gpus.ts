/** Rule: an image with code for NVIDIA needs GPUs under a driver, a driver that serves its toolkit, and code for every GPU. */

import type { CudaRequirement } from "../../../lock/requirement.ts";
import type { HostView } from "../../host-view.ts";
import type { NvidiaView } from "../../nvidia-view.ts";
import { type CodeFit, type GpuFit, isMisfit, type Misfit, type Misfits } from "../../verdict.ts";
import { checkDriver } from "./driver.ts";
import { checkGpuCode } from "./gpu-code.ts";
import { checkNvidiaPresence } from "./nvidia-presence.ts";
import { checkNvidiaRequire } from "./nvidia-require.ts";
import { rule } from "../rule.ts";

export const nvidiaRule = rule({
  image: ({ requires }) => requires.cuda,
  asks: ["nvidia", "unknownGpuFacts", "broken", "otherProblems", "runtime"],
  answer: (cuda, host) =>
    cuda === null || host.unknownGpuFacts.nvidia.length > 0 ? null : serve(cuda, host),
});

/** Finds the fit and the misfits in one pass, so that a refused image can never be read as a fit. */
function serve(
  cuda: CudaRequirement,
  host: Pick<HostView, "nvidia" | "broken" | "otherProblems" | "runtime">,
): GpuFit | Misfits {
  const usable = checkNvidiaPresence(host);
  const require = checkNvidiaRequire(cuda, host);
  const last = require === null ? [] : [require];
  if (!usable.ok) return [usable, ...driverMisfits(cuda, host.nvidia), ...last];
  const service = checkDriver(cuda, usable.nvidia);
  const code = checkGpuCode(cuda, usable.nvidia, service.ok ? service : null);
  if (!service.ok) return [service, ...misfitsIn(code), ...last];
  if (isMisfit(code)) return [code, ...last];
  return require === null ? { ok: true, tier: service.tier, code } : [require];
}

/** No GPU is usable: these would be wrong besides. */
function driverMisfits(cuda: CudaRequirement, nvidia: NvidiaView | null): readonly Misfit[] {
  if (nvidia === null) return [];
  const service = nvidia.driver === null ? null : checkDriver(cuda, nvidia);
  const code = checkGpuCode(cuda, nvidia, service?.ok === true ? service : null);
  return [...(service === null || service.ok ? [] : [service]), ...misfitsIn(code)];
}

function misfitsIn(code: readonly CodeFit[] | Misfit): readonly Misfit[] {
  return isMisfit(code) ? [code] : [];
}
