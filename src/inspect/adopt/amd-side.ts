/** AMD's side of an adopted image: the targets that all its libraries serve, and the ROCm release. */

import { ImgmatchError, usageError } from "../../errors.ts";
import type { RocmRequirement } from "../../lock/requirement.ts";
import { servedTargets } from "../amd/amd-libraries.ts";
import { hasRocmRuntime, rocmReleases } from "../amd/rocm-release.ts";
import type { ImageInspection } from "../inspection.ts";
import { type AdoptedSide, type AskedImage, noSide } from "./adopted-side.ts";
import type { Statement } from "../../lock/statement.ts";

export function adoptAmd({ inspection, statement }: AskedImage, isBeside: boolean): AdoptedSide {
  const rocm = rocmOf(inspection, statement, isBeside);
  if (rocm !== null) return { ...noSide, requires: { rocm }, measured: { rocm: { code: rocm.code } } };
  if (inspection.amd === null) return noSide;
  const note =
    "its GPU code for AMD runs nowhere: it has no ROCm runtime. If something else brings it, state --rocm";
  return { ...noSide, notes: [note] };
}

/** AMD's code needs a runtime in the image. An image for NVIDIA without it counts as one for NVIDIA alone. Throws `ADOPT_UNDECIDED`. */
function rocmOf(
  { amd, files, subject }: ImageInspection,
  { rocm: stated }: Statement,
  isBeside: boolean,
): RocmRequirement | null {
  if (stated !== undefined && !/^\d{1,3}\.\d{1,3}(\.\d{1,3})?$/.test(stated))
    throw usageError(`--rocm ${JSON.stringify(stated)} is no release of ROCm`, "write --rocm 7.2");
  if (amd === null) {
    if (stated === undefined) return null;
    throw usageError(`${subject} has no GPU code for AMD`, "leave --rocm out");
  }
  const runtime = hasRocmRuntime(files);
  if (stated === undefined && !runtime && isBeside) return null;
  const refuse = (why: string, fix: string) =>
    new ImgmatchError({ code: "ADOPT_UNDECIDED", message: why, fix });
  const stateIt = "state the release of its runtime, for example --rocm 7.2";
  if (stated === undefined && !runtime) throw refuse("it has GPU code for AMD and no ROCm runtime", stateIt);
  const known = amd.libraries.filter(({ targets }) => targets.length > 0);
  const code = servedTargets(known.map(({ targets }) => targets));
  if (code.length === 0)
    throw refuse(
      known.length === 0
        ? "its GPU code for AMD cannot be read"
        : `no GPU target is in all its libraries with code for AMD: ${known
            .slice(0, 3)
            .map(({ path, targets }) => `${path} has ${targets.join(", ")}`)
            .join("; ")}`,
      `imgmatch inspect ${subject} shows what it has`,
    );
  const releases = stated === undefined ? rocmReleases(files) : [stated];
  const [release] = releases;
  if (release !== undefined && releases.length === 1) return { release, code };
  throw refuse(
    release === undefined
      ? "its files do not tell the release of ROCm"
      : `its files are of ROCm ${releases.join(" and ")}`,
    stateIt,
  );
}
