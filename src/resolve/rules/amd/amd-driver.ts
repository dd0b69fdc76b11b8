/** Notes, no rule: an image that fits may still be outside AMD's support statement, which nothing enforces. */

import { type AmdDriver, amdDrivers } from "../../../hardware/amd-drivers.ts";
import { kernelRows, kernelSupport } from "../../../hardware/amd-kernels.ts";
import { compareVersions, type DriverVersion, parseVersion } from "../../../hardware/driver-version.ts";
import type { RocmRequirement } from "../../../lock/requirement.ts";
import type { AmdView } from "../../amd-view.ts";
import type { HostView } from "../../host-view.ts";
import { isMisfit } from "../../verdict.ts";
import { checkAmdCode } from "./amd-gpus.ts";

export function noteAmd(
  { release, code }: RocmRequirement,
  { driver, gpus, besides }: AmdView,
  kernel: HostView["kernel"],
): readonly string[] {
  return [
    ...(driver === null ? [] : noteWindow(release, driver)),
    ...noteKernel(release, gpus, kernel),
    ...noteSpirv(release, { code, gpus }),
    ...besides
      .filter((gpu) => isMisfit(checkAmdCode({ code, compute: undefined, xnack: false }, [gpu])))
      .map(
        ({ label, target }) =>
          `${label}${target === null ? "" : `, ${target}`}, of the processor is left out, and the image has no code for it: hide it from the program too (HIP_VISIBLE_DEVICES=${gpus.map(({ index }) => index).join()})`,
      ),
  ];
}

/** A driver without a row has at least the oldest release of the row below, and at most the newest of the row above. */
function noteWindow(release: string, { text, parts }: DriverVersion): readonly string[] {
  const own = parseVersion(release);
  if (own === null) return [];
  const order = ({ module }: AmdDriver) => compareVersions(parseVersion(module) ?? [], parts);
  const older = amdDrivers.findLast((row) => row.oldest !== null && order(row) <= 0);
  const newer = amdDrivers.find((row) => row.newest !== null && order(row) >= 0);
  const compare = (limit: string | null | undefined) => {
    const limits = parseVersion(limit ?? "") ?? own;
    return compareVersions(own.slice(0, limits.length), limits);
  };
  const row = compare(older?.oldest) < 0 ? older : compare(newer?.newest) > 0 ? newer : undefined;
  if (row === undefined) return [];
  const window = [
    ...(row === older ? [`from ${row.oldest}`] : []),
    ...(row === newer ? [`to ${row.newest}`] : []),
  ];
  const where = order(row) === 0 ? "" : `, this host's ${text} is ${row === older ? "newer" : "older"}`;
  return [
    `AMD names ROCm ${window.join(" ")} for its driver ${row.driver} (amdgpu ${row.module})${where}, the image has ROCm ${release}: whether it works is not known`,
  ];
}

/** A distribution may have put the fixes into an older kernel, so that nothing is certain there. */
function noteKernel(release: string, gpus: AmdView["gpus"], kernel: HostView["kernel"]) {
  const [{ label, target } = { label: "", target: null }] = gpus;
  const found = kernel && kernelSupport(target, release, kernel.parts);
  if (kernel === null || found === null || found.word === "yes") return [];
  const { row, isFrom, word } = found;
  const better = kernelRows.filter((each) => each.target === target && each.from === "yes");
  const where = isFrom
    ? `Linux ${row.kernel} and newer, and ROCm ${better.map((each) => each.release).join(", ")} as supported`
    : `Linux before ${row.kernel}, unless the distribution has put the fixes of ${row.kernel} into it`;
  return [
    `AMD lists ROCm ${row.release} as ${word === "no" ? "not supported" : word} for ${label}, ${target}, on ${where} (this host: ${kernel.text}, the image: ROCm ${release}): programs crash or meet page faults there`,
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
        `${first.label}, ${first.target}, has no code of its own: the image's ROCm ${release} compiles SPIR-V at the start, if it knows the target`,
      ];
}
