/**
 * Holds claims against files: true, too narrow (the files need more than it says), too wide (it says more than there is), or not provable.
 * The unknown never makes a claim true.
 */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { allMarches, type March } from "../../hardware/cpu-marches.ts";
import { cudaOfDriver } from "../../hardware/cuda-toolkits.ts";
import { compareVersionTexts, minorOf } from "../../hardware/driver-version.ts";
import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { parseGpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import { assertNever } from "../../errors.ts";
import { servesTarget } from "../amd/amd-libraries.ts";
import { atLeast, type FeatureNeed } from "../cpu/cpu-need.ts";
import { codesIn, hidingGpuCode, type InspectedFile } from "../file-inspection.ts";
import type { ImageInspection } from "../inspection.ts";
import { vendorCode } from "../vendor-code.ts";
import type { ClaimAnswer } from "./claim-files.ts";
import type { Claim } from "./claims-of.ts";

type Finding = Pick<ClaimAnswer, "verdict" | "found" | "file">;

const holds: Finding = { verdict: "true", found: "", file: null };
const open = (found: string, file: string | null = null): Finding => ({
  verdict: "not provable",
  found,
  file,
});
const narrow = (found: string, file: string | null): Finding => ({ verdict: "too narrow", found, file });
const wide = (found: string, file: string | null = null): Finding => ({ verdict: "too wide", found, file });

export function judgeClaims(claims: readonly Claim[], inspection: ImageInspection): readonly ClaimAnswer[] {
  return claims.map((claim) => {
    const files = inspection.files.filter(({ path }) => claim.isAbout(path));
    const unopened = inspection.unopened.filter(({ path }) => claim.isAbout(path));
    return { claim: claim.text, by: claim.by, ...judge(claim.about, { ...inspection, files, unopened }) };
  });
}

const hasTarget: Readonly<Record<GpuVendor, (targets: readonly string[], wanted: string) => boolean>> = {
  nvidia: (targets, wanted) => targets.includes(wanted),
  amd: servesTarget,
};

function judge(about: Claim["about"], scope: ImageInspection): Finding {
  const { files } = scope;
  switch (about.kind) {
    case "march":
      return judgeMarch(about.march, new Set(about.allowed), scope);
    case "feature": {
      const user = files.find(({ answer }) => atLeast(answer?.features[about.name], "compiledFor"));
      if (user !== undefined) return holds;
      const maybe = files.find(({ answer }) => answer?.features[about.name] !== undefined);
      if (maybe !== undefined) return open("no file needs it, and a file may use it", maybe.path);
      return unreadCpu(scope) ?? wide("no file uses it");
    }
    case "target":
      return judgeTarget(about.vendor, scope, `no code for ${about.target}`, (targets) =>
        hasTarget[about.vendor](targets, about.target),
      );
    case "compute": {
      const card = parseComputeCapability(about.least);
      return judgeTarget(
        "nvidia",
        scope,
        `no code that runs on compute capability ${about.least}`,
        (targets) =>
          targets.some((text) => {
            const target = parseGpuTarget(text);
            return card !== null && target !== null && targetRunsOn(target, card);
          }),
      );
    }
    case "driver":
      return judgeDriver(about.cuda, scope);
    case "toolkit": {
      const { cuda: needs } = scope.requires;
      const runtime = scope.driver.runtime.find(({ library }) => library === "libcudart")?.version ?? null;
      const version = runtime ?? needs?.toolkit ?? null;
      if (needs === null && runtime === null) return unreadGpu(scope, "nvidia") ?? wide("no code of CUDA");
      if (version === null) return open("no file says which toolkit made its code");
      const order = compareVersionTexts(minorOf(version), minorOf(about.version));
      if (order > 0) return narrow(`CUDA ${version}`, needs?.toolkitFile ?? null);
      return order < 0 ? wide(`CUDA ${version}`, needs?.toolkitFile ?? null) : holds;
    }
    case "architecture": {
      const other = files.find(({ program }) => program !== null && !about.names?.includes(program.machine));
      if (other !== undefined) return narrow(`a program for ${other.program?.machine}`, other.path);
      const [hidden] = scope.unopened;
      return hidden === undefined ? holds : open(hidden.reason, hidden.path);
    }
    case "libc": {
      const beyond = files.find(({ program }) => {
        const libc = program?.libc ?? null;
        const isNewer = compareVersionTexts(libc?.version ?? "0", about.version ?? "999") > 0;
        return libc !== null && (libc.name !== about.name || isNewer);
      });
      const libc = beyond?.program?.libc;
      return libc ? narrow([libc.name, libc.version].filter(Boolean).join(" "), beyond?.path ?? null) : holds;
    }
    case "no-gpu-code": {
      const holder = files.find((file) => codesIn(file).some(({ modules }) => modules > 0));
      return holder === undefined ? (unreadGpu(scope, "gpu") ?? holds) : narrow("GPU code", holder.path);
    }
    case "unknown":
      return open(about.why);
    default:
      return assertNever(about);
  }
}

const elfNames: Readonly<Record<string, readonly string[]>> = {
  amd64: ["x86_64", "x86"],
  arm64: ["aarch64"],
};

function judgeMarch(march: March, claimed: ReadonlySet<string>, scope: ImageInspection): Finding {
  const isOf = (machine: string) => elfNames[march.architecture]?.includes(machine) === true;
  const programs = scope.files.filter(({ cpu }) => cpu && isOf(cpu.architecture));
  const unread = scope.files.find(({ cpu, program }) => cpu === null && program && isOf(program.machine));
  if (unread !== undefined) return open(`its code for ${march.architecture} was not read`, unread.path);
  if (programs.length === 0)
    return unreadCpu(scope) ?? open(`no program for ${march.architecture} was found`);
  const isAllowed = (name: string) =>
    claimed.has(name) || x86Baseline.has(name) || neverNeededFeatures.has(name);
  const usesOf = ({ answer }: InspectedFile, need: FeatureNeed) =>
    Object.entries(answer?.features ?? {}).flatMap(([name, use]) => (atLeast(use, need) ? [name] : []));
  for (const need of ["needed", "compiledFor", "undecided"] as const)
    for (const file of programs) {
      const beyond = usesOf(file, need).filter((name) => !isAllowed(name));
      if (beyond.length === 0) continue;
      if (need === "needed") return narrow(`needs ${beyond.join(" ")}`, file.path);
      const has = need === "compiledFor" ? "compiled for" : "holds code for";
      return open(`${has} ${beyond.join(" ")}`, file.path);
    }
  const hidden = unreadCpu(scope);
  if (hidden !== null) return hidden;
  // The distribution's own files have code for every CPU.
  const own = programs.filter((file) => file.package === null);
  const used = [...new Set(own.flatMap((file) => usesOf(file, "undecided")))];
  const less = lesserMarch(march, used);
  if (less === null) return holds;
  const maybe = own.find((file) => lesserMarch(march, usesOf(file, "mayBeUsed")) === null);
  return maybe === undefined
    ? wide(`no file uses more than ${less}`)
    : open(`no file needs more than ${less}, and one may use more`, maybe.path);
}

/**
 * The smallest march below `march` with every used feature that `march` has; null if there is none. Below are the marches of a lower level that
 * are generic or of the same vendor, and the smallest has the fewest features.
 */
function lesserMarch(march: March, used: readonly string[]): string | null {
  const own = allMarches().filter(({ architecture }) => architecture === march.architecture);
  const levels = own.filter(({ vendor }) => vendor === "generic");
  const rank = ({ required }: March) =>
    levels.findLastIndex((level) => level.required.every((name) => required.includes(name)));
  const asked = used.filter((name) => march.features.includes(name) && !x86Baseline.has(name));
  const lesser = own.filter(
    (each) =>
      (each.vendor === "generic" || each.vendor === march.vendor) &&
      rank(each) < rank(march) &&
      asked.every((name) => each.features.includes(name)),
  );
  return lesser.sort((a, b) => a.features.length - b.features.length)[0]?.name ?? null;
}

function judgeTarget(
  vendor: GpuVendor,
  scope: ImageInspection,
  without: string,
  has: (targets: readonly string[]) => boolean,
): Finding {
  const { libraries, isOfVendor } = vendorCode[vendor];
  const own = libraries(scope.files).filter(({ path, targets }) => targets.length > 0 && !isOfVendor(path));
  const lacking = own.find(({ targets }) => !has(targets));
  if (own.length > 0 && lacking === undefined) return holds;
  return unreadGpu(scope, vendor) ?? wide(without, lacking?.path ?? null);
}

/** CUDA's version under the oldest driver that loads the code, and that of its newest code. */
function judgeDriver(claimed: string, scope: ImageInspection): Finding {
  const { cuda: needs } = scope.requires;
  if (needs === null) return unreadGpu(scope, "nvidia") ?? wide("no code of CUDA");
  const { toolkit, driver, toolkitFile, raisedBy } = needs;
  const least = driver?.mode === "host" ? cudaOfDriver(driver.minimum ?? "") : null;
  if (toolkit === null || least === null) return open("the oldest driver for its code is not known");
  if (compareVersionTexts(least, claimed) > 0)
    return narrow(`needs a driver of CUDA ${least}`, raisedBy ?? toolkitFile);
  return compareVersionTexts(claimed, minorOf(toolkit)) > 0
    ? wide(`its newest code is of CUDA ${toolkit}`, toolkitFile)
    : holds;
}

function unreadCpu({ unopened: [first] }: ImageInspection): Finding | null {
  return first === undefined ? null : open(first.reason, first.path);
}

function unreadGpu({ files, unopened }: ImageInspection, vendor: GpuVendor | "gpu"): Finding | null {
  const [first] = hidingGpuCode(files, unopened, vendor);
  return first === undefined ? null : open(first.reason, first.path);
}
