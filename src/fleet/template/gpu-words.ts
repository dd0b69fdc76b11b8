/** The words that templates have for each vendor's toolkit and GPU targets. */

import { minorOf } from "../../hardware/driver-version.ts";
import { formatGpuTarget } from "../../hardware/gpu-target.ts";
import type { DriverRequirement, GpuVendor } from "../../lock/requirement.ts";
import { gpuAxes } from "../matrix/gpu-axes.ts";
import type { GpuCode, Targets, Toolkits } from "../matrix/matrix.ts";
import { cmakeForms, dottedForms, gencodeForms, gencodeOptions, offloadForms } from "./target-forms.ts";

interface Words<Vendor extends GpuVendor> {
  readonly ofToolkit: (toolkit: Toolkits[Vendor], version: Version) => object;
  readonly ofTargets: (targets: readonly Targets[Vendor][]) => GpuView;
  /** In the template of a build argument, in place of {@link ofTargets}'. */
  readonly ofArgument: (targets: readonly Targets[Vendor][]) => Partial<GpuView>;
}

interface Version {
  readonly major: string;
  readonly minor: string;
  readonly short: string;
}

interface GpuView {
  readonly targets: readonly string[];
  readonly offload?: string;
  readonly gencode?: string;
  readonly cmake: string;
  readonly torch: string;
}

const words: { readonly [V in GpuVendor]: Words<V> } = {
  nvidia: {
    ofToolkit: ({ release, driver }, version) => ({ toolkit: release, ...version, driver: driverOf(driver) }),
    ofTargets: (targets) => ({
      targets: targets.map(formatGpuTarget),
      gencode: gencodeOptions(targets),
      cmake: cmakeForms(targets).join(";"),
      torch: dottedForms(targets).join(";"),
    }),
    ofArgument: (targets) => ({ gencode: gencodeForms(targets).join(" ") }),
  },
  amd: {
    ofToolkit: ({ release }, version) => ({ release, ...version }),
    ofTargets: (targets) => {
      const list = targets.join(";");
      return { targets, offload: offloadForms(targets).join(" "), cmake: list, torch: list };
    },
    ofArgument: () => ({}),
  },
};

export function gpuWords<Vendor extends GpuVendor>({ vendor, toolkit, targets }: GpuCode<Vendor>) {
  const { release } = toolkit;
  const { ofToolkit, ofTargets, ofArgument } = words[vendor];
  const minor = minorOf(release);
  const version = {
    major: minor.slice(0, minor.indexOf(".")),
    minor,
    short: gpuAxes[vendor].shortOf(release),
  };
  const gpu = ofTargets(targets);
  return {
    vendor,
    toolkit: ofToolkit(toolkit, version),
    gpu,
    argument: { ...gpu, ...ofArgument(targets) },
  };
}

function driverOf(driver: DriverRequirement): { mode: string; version: string | null } {
  switch (driver.mode) {
    case "bundled":
      return { mode: "bundled", version: driver.version };
    case "compat":
      return { mode: "compat", version: driver.package };
    default:
      return { mode: "host", version: null };
  }
}
