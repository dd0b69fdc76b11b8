/** Notes, no rule: an image that fits may still be outside AMD's support statement, which nothing enforces. */

import { type AmdDriver, amdDrivers } from "../../../hardware/amd-drivers.ts";
import { compareVersions, parseVersion } from "../../../hardware/driver-version.ts";
import type { RocmRequirement } from "../../../lock/requirement.ts";
import type { AmdView } from "../../amd-view.ts";
import { isMisfit } from "../../verdict.ts";
import { checkAmdCode } from "./amd-gpus.ts";

export function noteAmd(
  { release, code }: RocmRequirement,
  { driver, gpus, besides }: AmdView,
): readonly string[] {
  const row = amdDrivers.find(({ module }) => module === driver?.parts.slice(0, 3).join("."));
  return [
    ...(row === undefined ? [] : noteWindow(release, row)),
    ...noteSpirv(release, { code, gpus }),
    ...besides
      .filter((gpu) => isMisfit(checkAmdCode({ code, compute: undefined, xnack: false }, [gpu])))
      .map(
        ({ label, target }) =>
          `${label}${target === null ? "" : `, ${target}`}, of the processor is left out, and the image has no code for it: hide it from the program too (HIP_VISIBLE_DEVICES=${gpus.map(({ index }) => index).join()})`,
      ),
  ];
}

function noteWindow(release: string, { driver, module, oldest, newest }: AmdDriver): readonly string[] {
  const own = parseVersion(release);
  const isBeyond = (limit: string | null, sign: 1 | -1) => {
    const parts = limit === null ? null : parseVersion(limit);
    return own !== null && parts !== null && sign * compareVersions(own.slice(0, parts.length), parts) > 0;
  };
  if (!isBeyond(oldest, -1) && !isBeyond(newest, 1)) return [];
  const window = [oldest === null ? "" : `from ${oldest}`, newest === null ? "" : `to ${newest}`];
  return [
    `AMD names ROCm ${window.filter((part) => part !== "").join(" ")} for its driver ${driver} (amdgpu ${module}), the image has ROCm ${release}: nothing refuses that, and nobody promises it`,
  ];
}

/** The image's own ROCm compiles SPIR-V on the host, and may be older than the card. */
function noteSpirv(release: string, { code, gpus }: Pick<RocmRequirement, "code"> & Pick<AmdView, "gpus">) {
  const fits = checkAmdCode({ code, compute: undefined, xnack: false }, gpus);
  if (isMisfit(fits)) return [];
  const compiled = gpus.filter((_, place) => fits[place]?.kind === "spirv");
  const [first] = compiled;
  return first === undefined
    ? []
    : [
        `${first.label}, ${first.target}, has no code of its own: the image's ROCm ${release} compiles SPIR-V for it at the start, if it knows that target`,
      ];
}
