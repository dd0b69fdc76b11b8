/** The answers of the rules for each driver and each GPU, as texts that a script looks up. */

import { InternalError } from "../../errors.ts";
import { kernelSupport } from "../../hardware/amd-kernels.ts";
import { amdArchitectures } from "../../hardware/amd-architectures.ts";
import type { ComputeCapability } from "../../hardware/compute-capability.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import type { GpuClass } from "../../hardware/gpu-class.ts";
import { cudaOfPtx, parseCudaCode } from "../../hardware/ptx-versions.ts";
import { compareVersionTexts, minorOf } from "../../hardware/driver-version.ts";
import { isPtx } from "../../hardware/gpu-target.ts";
import { type DriverScale, driverScales } from "../../facts/facts.ts";
import type { CudaRequirement, RocmRequirement } from "../../lock/requirement.ts";
import { orderSteps } from "../../resolve/order-steps.ts";
import { checkAmdCode } from "../../resolve/rules/amd/amd-gpus.ts";
import { checkDriver, driverThresholds } from "../../resolve/rules/nvidia/driver.ts";
import { checkNvidiaPresence, presenceThresholds } from "../../resolve/rules/nvidia/nvidia-presence.ts";
import { type ReasonCode, tiers } from "../../resolve/verdict.ts";
import { bestCode, compatViews, sampleHost, sampleNvidia, servesGpu } from "../sample-hosts.ts";
import { codeNumber } from "./compile-order.ts";
import { tabulate } from "./require-tables.ts";

/** The needs of an image, with PTX of one need alone: the CUDA version `ptx`, or null for PTX that every driver understands. */
export interface ScriptNeeds extends CudaRequirement {
  readonly ptx: string | null;
  /** The number of the image's targets. */
  readonly targets: number;
}

/** Divides an image's needs, as a grid tells of one version of PTX: each part has the machine code, and the PTX that a driver of `ptx` understands. */
export function scriptNeeds({ toolkit, code, driver, require }: CudaRequirement): readonly ScriptNeeds[] {
  const needOf = (text: string) => {
    const read = parseCudaCode(text);
    return read?.kind === "ptx" ? cudaOfPtx(read.isa, toolkit) : null;
  };
  const isWithin = (text: string, ptx: string | null) => {
    const need = needOf(text);
    return need === null || (ptx !== null && compareVersionTexts(minorOf(need), minorOf(ptx)) <= 0);
  };
  const levels = [...new Set(code.filter(isPtx).map(needOf))];
  return (levels.length === 0 ? [toolkit] : levels).map((ptx) => ({
    ...{ toolkit, driver, ptx, targets: new Set(code).size, ...(require !== undefined && { require }) },
    code: code.filter((text) => isWithin(text, ptx)),
  }));
}

/**
 * The answer by driver. A digit is a fit: twice the tier's place, and 1 more where the driver understands the image's PTX. `u`, `v` and `w`
 * depend on the host's container toolkit, which a script does not see: at best they fit, in that tier. Other letters are reasons.
 */
export function driverGrid(requirement: ScriptNeeds, scale: DriverScale, gpuClass: GpuClass): string {
  const views = requirement.driver.mode === "compat" ? compatViews : compatViews.slice(0, 1);
  return tabulate((driver, cuda) => {
    const answers = views.map((compat) => {
      const view = sampleNvidia(driver, cuda, { scale, class: gpuClass, compat });
      const service = checkDriver(requirement, view);
      return service.ok
        ? String(
            2 * tiers.indexOf(service.tier) +
              Number(requirement.ptx === null || service.understands(requirement.ptx)),
          )
        : (reasonLetters[service.code] ?? "?");
    });
    const [first = "?"] = answers;
    const fits = answers.filter((each) => /\d/.test(each)).map(Number);
    if (answers.every((each) => each === first) || fits.length === 0) return first;
    return doubts[Math.floor(Math.min(...fits) / 2)] ?? "u";
  }, driverThresholds(requirement));
}

/** One for each tier, in their order. */
const doubts = ["u", "v", "w"] as const;

const reasonLetters: Partial<Record<ReasonCode, string>> = {
  DRIVER_TOO_OLD: "o",
  DRIVER_NOT_EXACT: "x",
  COMPAT_NOT_SUPPORTED: "c",
  FACT_UNKNOWN: "c",
};

/** The GPUs that some driver does not drive: their compute capabilities, and the drivers that do (`+`) for each scale and module. */
export function presenceGrids(): readonly { readonly computes: string; readonly grids: readonly string[] }[] {
  const byGrids = new Map<string, number[]>();
  for (const { compute } of gpuArchitectures) {
    const thresholds = presenceThresholds(compute);
    const grids = driverScales.flatMap((scale) =>
      (["proprietary", "open", null] as const).map((module) =>
        tabulate((driver, cuda) => {
          const view = sampleNvidia(driver, cuda, { scale, module, compute });
          return checkNvidiaPresence(sampleHost(view)).ok ? "+" : "-";
        }, thresholds),
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
 * The code that a GPU of each compute capability runs best; for an image without code of its own, the GPU's own number behind the place of
 * "no code". `80=2s80,90=0a90,91=3p90`: from 8.0 on `sm_80`, on 9.0 `sm_90a`, after that
 * `compute_90`. The digit is the place of its kind in the order. PTX is the last kind: without it nothing is left.
 */
export function codeTable(requirement: CudaRequirement): string {
  const entries: string[] = [];
  let before = "-";
  // Above the newest architecture and the newest code the answer stays.
  const majors = requirement.code.map((text) => parseCudaCode(text)?.compute.major ?? 0);
  const newest = Math.max(...majors, ...gpuArchitectures.map(({ compute }) => compute.major));
  for (let number = 10; number < 10 * (newest + 2); number++) {
    const entry = codeAt(requirement, number);
    if (entry !== before) entries.push(`${number}=${entry}`);
    before = entry;
  }
  return entries.join(",");
}

function codeAt(requirement: CudaRequirement, number: number): string {
  const compute = { major: Math.floor(number / 10), minor: number % 10 };
  if (requirement.code.length === 0)
    return servesGpu(requirement, compute)
      ? `${codeNumber(orderSteps.code.key(null)) / 1000}s${number}`
      : "-";
  const best = bestCode(requirement, compute, true);
  const machine = bestCode(requirement, compute, false);
  if (best === null) return "-";
  const target = parseCudaCode(best.target);
  if (target === null) throw new InternalError(`the rules choose the unknown target ${best.target}`);
  const built = numberOf(target.compute);
  const key = codeNumber(orderSteps.code.key(best));
  const sameMachineCode = best.kind === "ptx" ? machine === null : machine?.target === best.target;
  if (key % 1000 !== number - built || !sameMachineCode)
    throw new InternalError(`the exported script cannot state the rules for ${best.target} on ${number}`);
  return `${Math.floor(key / 1000)}${target.kind === "ptx" ? "p" : "s"}${target.suffix}${built}`;
}

/**
 * The same for AMD. `3 942=00,01,?;1100=12`: the image has three targets. On gfx942 the first runs best with sramecc on, the second with it off;
 * where sramecc is unknown the answer is too. On gfx1100 the third runs. An entry is the place of its kind in the order, then the target's number.
 * `1151>6.18.4` behind it: on gfx1151 AMD does not support the image's release from this kernel on.
 */
export function amdCodeRow({ code, release }: RocmRequirement, xnack: boolean): string {
  const built = [...new Set(code)].sort();
  // On a target that the tables do not know only the image's own target runs.
  const ownTargets = built.flatMap((target) => /^gfx\d{1,2}[0-9a-f]{2}(?=:|$)/.exec(target)?.[0] ?? []);
  const targets = [...new Set([...amdArchitectures.map(({ name }) => name), ...ownTargets])].sort();
  const entries = targets.flatMap((target) => {
    const answers = [true, false, null].map((sramecc) => {
      const gpu = { index: 0, label: "GPU 0", target, sramecc, integrated: null };
      const found = checkAmdCode({ code: built, compute: undefined, xnack }, [gpu]);
      if ("ok" in found) return found.code === "FACT_UNKNOWN" ? "?" : "-";
      const kind = codeNumber(orderSteps.code.key(found[0] ?? null)) / 1000;
      if (!Number.isInteger(kind)) throw new InternalError(`code of AMD is at a distance from ${target}`);
      return `${kind}${built.indexOf(found[0]?.target ?? "")}`;
    });
    const same = new Set(answers).size === 1;
    if (same && answers[0] === "-") return [];
    return [`${target.slice("gfx".length)}=${same ? answers[0] : answers.join(",")}`];
  });
  const unsupported = targets.flatMap((target) => {
    const row = kernelSupport(target, release, [])?.row;
    return row?.from === "no" ? [`${target.slice("gfx".length)}>${row.kernel}`] : [];
  });
  return [`${built.length} ${entries.join(";") || "-"}`, ...unsupported].join(" ");
}

function numberOf({ major, minor }: ComputeCapability): number {
  return 10 * major + minor;
}
