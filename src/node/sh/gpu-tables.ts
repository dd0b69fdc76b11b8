/** The answers of the rules about a requirement for each driver and each GPU, as texts that a script looks up. */

import { InternalError } from "../../errors.ts";
import type { ComputeCapability } from "../../hardware/compute-capability.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { parseGpuTarget } from "../../hardware/gpu-target.ts";
import type { CudaRequirement } from "../../lock/lock.ts";
import { orderSteps } from "../../resolve/order-steps.ts";
import { checkDriver, driverSteps } from "../../resolve/rules/driver.ts";
import { checkGpuCode } from "../../resolve/rules/gpu-code.ts";
import { checkGpuPresence, presenceSteps } from "../../resolve/rules/gpu-presence.ts";
import { type CodeFit, type DriverService, type ReasonCode, tiers } from "../../resolve/verdict.ts";
import { codeNumber, compatViews, type gpuClasses, hostView, nvidiaView, scales } from "./compile-order.ts";
import { tabulate } from "./require-tables.ts";

/**
 * A digit is a fit: twice the tier's place, and 1 more where the driver understands the image's PTX. A letter is a reason; `u`,
 * `v` and `w` are fits or none, in no better tier than their place, by the host's container toolkit: of that a script sees nothing.
 */
export function driverGrid(
  requirement: CudaRequirement,
  scale: (typeof scales)[number],
  gpuClass: (typeof gpuClasses)[number],
): string {
  const views = requirement.driver.mode === "compat" ? compatViews : compatViews.slice(0, 1);
  return tabulate((driver, cuda) => {
    const answers = views.map((compat) => {
      const view = nvidiaView(driver, cuda, { scale, class: gpuClass, compat });
      const service = checkDriver(requirement, view);
      return service.ok
        ? String(2 * tiers.indexOf(service.tier) + Number(service.ptx))
        : (reasonLetters[service.code] ?? "?");
    });
    const [first = "?"] = answers;
    const fits = answers.filter((each) => /\d/.test(each)).map(Number);
    if (answers.every((each) => each === first) || fits.length === 0) return first;
    return doubts[Math.floor(Math.min(...fits) / 2)] ?? "u";
  }, driverSteps(requirement));
}

/** Of the tiers, in their order. */
const doubts = ["u", "v", "w"] as const;

/** Why a driver does not serve an image, in one letter. */
const reasonLetters: Partial<Record<ReasonCode, string>> = {
  DRIVER_TOO_OLD: "o",
  DRIVER_NOT_EXACT: "x",
  COMPAT_NOT_SUPPORTED: "c",
  FACT_UNKNOWN: "c",
};

/** GPUs that some driver does not drive: their compute capabilities, and for each scale and module which drivers do (`+`). */
export function presenceGrids(): readonly { readonly computes: string; readonly grids: readonly string[] }[] {
  const byGrids = new Map<string, number[]>();
  for (const { compute } of gpuArchitectures) {
    const steps = presenceSteps(compute);
    const grids = scales.flatMap((scale) =>
      (["proprietary", "open", null] as const).map((module) =>
        tabulate((driver, cuda) => {
          const view = nvidiaView(driver, cuda, { scale, module, compute });
          return checkGpuPresence(hostView(view)).ok ? "+" : "-";
        }, steps),
      ),
    );
    if (grids.every((grid) => grid === "0:+")) continue;
    const key = JSON.stringify(grids);
    byGrids.set(key, [...(byGrids.get(key) ?? []), numberOf(compute)]);
  }
  return [...byGrids].map(([key, computes]) => ({
    computes: computes.join(","),
    grids: JSON.parse(key) as string[],
  }));
}

/**
 * The code that a GPU of each compute capability runs best: `80=2s80,90=0a90,91=3p90` says that from 8.0 on it is `sm_80`, on 9.0
 * `sm_90a`, after that `compute_90`. The digit is the place of its kind in the order. PTX comes last of all, so a driver that
 * does not understand it leaves nothing.
 */
export function codeTable(requirement: CudaRequirement): string {
  const entries: string[] = [];
  let before = "-";
  for (let number = 10; number < 1000; number++) {
    const entry = codeAt(requirement, number);
    if (entry !== before) entries.push(`${number}=${entry}`);
    before = entry;
  }
  return entries.join(",");
}

function codeAt(requirement: CudaRequirement, number: number): string {
  const best = bestCode(requirement, number, true);
  const machine = bestCode(requirement, number, false);
  if (best === null) return "-";
  const target = parseGpuTarget(best.target);
  if (target === null) throw new InternalError(`the rules choose the unknown target ${best.target}`);
  const built = numberOf(target.compute);
  const key = codeNumber(orderSteps.code.key(best));
  const sameMachineCode = best.kind === "ptx" ? machine === null : machine?.target === best.target;
  if (key % 1000 !== number - built || !sameMachineCode)
    throw new InternalError(`the exported script cannot state the rules for ${best.target} on ${number}`);
  return `${Math.floor(key / 1000)}${target.kind === "ptx" ? "p" : "s"}${target.suffix}${built}`;
}

function bestCode(requirement: CudaRequirement, number: number, ptx: boolean): CodeFit | null {
  const compute = { major: Math.floor(number / 10), minor: number % 10 };
  const service: DriverService = { ok: true, tier: "native", ptx, cuda: null };
  const { gpus } = nvidiaView("0", null, { scale: "linux", compute });
  const found = checkGpuCode(requirement, gpus, service);
  return "ok" in found ? null : (found[0] ?? null);
}

function numberOf({ major, minor }: ComputeCapability): number {
  return 10 * major + minor;
}
