/** The words that templates have for each vendor's toolkit and GPU targets. */

import { minorOf } from "../../hardware/driver-version.ts";
import { formatGpuTarget } from "../../hardware/gpu-target.ts";
import type { DriverRequirement } from "../../lock/requirement.ts";
import { answerAbout, type ByCode, gpuAxes } from "../matrix/gpu-axes.ts";
import type { AccelValue, ComputeValue } from "../matrix/matrix.ts";
import { cmakeForms, dottedForms, gencodeForms, gencodeOptions, offloadForms } from "./target-forms.ts";

interface Words {
  /** Under the toolkit's key. */
  readonly toolkit: object;
  /** Under `gpu`. */
  readonly gpu: Readonly<
    Record<"cmake" | "torch", string> & Partial<Record<"gencode" | "offload", string>>
  > & {
    readonly targets: readonly string[];
  };
  /** In the template of a build argument, in place of {@link gpu}'s. */
  readonly argument: object;
}

const words: ByCode<Words, [version: object]> = {
  nvidia: ({ toolkit: { release, driver }, targets }, version) => ({
    toolkit: { toolkit: release, ...version, driver: driverOf(driver) },
    gpu: {
      targets: targets.map(formatGpuTarget),
      gencode: gencodeOptions(targets),
      cmake: cmakeForms(targets).join(";"),
      torch: dottedForms(targets).join(";"),
    },
    argument: { gencode: gencodeForms(targets).join(" ") },
  }),
  amd: ({ toolkit: { release }, targets }, version) => {
    const list = targets.join(";");
    const offload = offloadForms(targets).join(" ");
    return {
      toolkit: { release, ...version },
      gpu: { targets, offload, cmake: list, torch: list },
      argument: {},
    };
  },
};

/** null for values of a row without GPU code. */
export function gpuWords(accel: AccelValue, compute: ComputeValue): Words | null {
  const minor = minorOf(accel.gpu?.toolkit.release ?? "");
  const major = minor.slice(0, minor.indexOf("."));
  return answerAbout(words, accel, compute, { major, minor, short: shortOf(accel) });
}

/** `cu128`, `rocm7.2`, `cpu`; an accelerator that imgmatch does not judge has its name. */
export function shortOf({ gpu, other }: AccelValue): string {
  return gpu === null ? (other ?? "cpu") : gpuAxes[gpu.vendor].shortOf(gpu.toolkit.release);
}

function driverOf(driver: DriverRequirement): { mode: string; version: string | null } {
  switch (driver.mode) {
    case "bundled":
      return { mode: "bundled", version: driver.version };
    case "compat":
      return { mode: "compat", version: driver.package };
    case "host":
      return { mode: "host", version: null };
  }
}
