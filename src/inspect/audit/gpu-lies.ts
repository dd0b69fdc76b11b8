/** Finds GPU targets that are declared and not in the image, or not in all its libraries. */

import type { Problem } from "../../errors.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { type GpuTarget, parseGpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import type { CudaRequirement, GpuVendor, RocmRequirement } from "../../lock/requirement.ts";
import { amdLibraries, amdTargets, coversAmd, servesTarget } from "../amd/amd-libraries.ts";
import { type InspectedFile, mayHideGpuCode } from "../file-inspection.ts";
import { cudaTargets, isPtx } from "../nvidia/gpu-inspection.ts";
import type { ImageInspection } from "../inspection.ts";
import { compiledOf } from "./cpu-use.ts";
import type { ImageOrigin } from "./origin.ts";

export interface Findings {
  readonly lies: readonly Problem[];
  readonly notes: readonly Problem[];
}

/** The declared code of one vendor, and how it is found in files. */
export interface CodeOf {
  /** Declared targets. */
  readonly code: readonly string[];
  readonly targetsOf: (files: readonly InspectedFile[]) => readonly string[];
  readonly isFound: (wanted: string, found: readonly string[]) => boolean;
  /** Programs and libraries that make such code at run time. */
  readonly compiler: RegExp;
  readonly hasUnknown: (inspection: ImageInspection) => boolean;
  readonly vendor: GpuVendor;
  readonly flags: string;
  /** `sm_80×1` */
  readonly countsOf: (file: InspectedFile) => readonly string[];
}

/** An image that carries several alternatives has the code of all. */
function withAllCode({
  code,
  or = [],
}: {
  readonly code: readonly string[];
  readonly or?: readonly { readonly code: readonly string[] }[];
}): readonly string[] {
  return [...new Set([code, ...or.map((other) => other.code)].flat())];
}

export const cudaCode = (requires: CudaRequirement): CodeOf => ({
  code: withAllCode(requires),
  targetsOf: cudaTargets,
  isFound: isFoundNvidia,
  compiler: /\/(?:lib(?:nvrtc|nvJitLink|nvvm|nvptxcompiler)[\w.-]*\.so[\d.]*|nvcc|ptxas|cicc)$/,
  hasUnknown: ({ gpu }) => gpu !== null && gpu.unknownKinds.length > 0,
  vendor: "nvidia",
  flags: "{{gpu.gencode}}",
  countsOf: ({ gpu }) => (gpu?.targets ?? []).map(({ target, modules }) => `${target}×${modules}`),
});

export const rocmCode = (requires: RocmRequirement): CodeOf => ({
  code: withAllCode(requires),
  targetsOf: amdTargets,
  isFound: (wanted, found) => found.some((target) => coversAmd(target, wanted)),
  compiler: /\/(?:lib(?:hiprtc|amd_comgr)[\w.-]*\.so[\d.]*|hipcc|amdclang(?:\+\+)?)$/,
  hasUnknown: ({ amd }) => amd !== null && amd.unknown.length > 0,
  vendor: "amd",
  flags: "{{gpu.offload}}",
  countsOf: ({ amd }) => (amd?.targets ?? []).map(({ target, modules }) => `${target}×${modules}`),
});

/**
 * A declared target is a lie if no file has it. It is a note if only files of the base have it, while the image's own have others. It is
 * neither if code may be hidden: an unknown kind of code, a file that could not be opened, and, without GPU code in the image's own files,
 * a compiler that makes it at run time.
 */
export function codeLies(of: CodeOf, inspection: ImageInspection, origin: ImageOrigin): Findings {
  const inOwn = of.targetsOf(origin.own);
  const anywhere = [...inOwn, ...of.targetsOf(origin.base)];
  const nowhere = mayHideCode(of, inspection, origin) ? [] : missingIn(of, anywhere);
  const elsewhere =
    inOwn.length === 0 ? [] : missingIn(of, inOwn).filter((target) => of.isFound(target, anywhere));
  const [ptx, machine] = [nowhere.filter(isPtx), nowhere.filter((target) => !isPtx(target))];
  const view = `${of.flags} of the template's view`;
  const found =
    anywhere.length === 0 ? "there is no GPU code in the image" : `found were ${anywhere.join(", ")}`;
  const about = (targets: readonly string[], problem: Problem): readonly Problem[] =>
    targets.length === 0 ? [] : [{ ...problem, details: holders(of, origin) }];
  return {
    lies: [
      ...about(machine, {
        code: "AUDIT_GPU_TARGET_MISSING",
        message: `${machine.join(", ")} is declared, and no file has machine code for it: ${found}`,
        fix: `compile with ${view}, or declare the targets that are there`,
      }),
      ...about(ptx, {
        code: "AUDIT_PTX_MISSING",
        message: `PTX for ${ptx.join(", ")} is promised, and no file has it: ${found}`,
        fix: `compile with ${view}, or take +ptx away from the compute value`,
      }),
    ],
    notes: about(elsewhere, {
      code: "AUDIT_GPU_TARGET_MISSING",
      message: `only files of the base image have ${elsewhere.join(", ")}; the image's own have ${inOwn.join(", ")}`,
      fix: `check that the image's own files are compiled with ${view}`,
    }),
  };
}

/**
 * Finds libraries without code for a declared target of AMD that others have: a program fails there when it calls one. One of the image's
 * own libraries is a lie; one of its base is a note, as the program may never call it.
 */
export function libraryLies({ code }: CodeOf, { amd }: ImageInspection, { own }: ImageOrigin): Findings {
  const ownLibraries = new Set(amdLibraries(own).map(({ path }) => path));
  const without = (amd?.libraries ?? []).flatMap(({ path, targets }) => {
    const lacking = code.filter(
      (target) =>
        amd?.targets.some((each) => coversAmd(each.target, target)) && !servesTarget(targets, target),
    );
    return lacking.length === 0 || targets.length === 0 ? [] : [{ path, targets, lacking }];
  });
  const problem = (isOwn: boolean): readonly Problem[] => {
    const found = without.filter(({ path }) => ownLibraries.has(path) === isOwn);
    const [first] = found;
    if (first === undefined) return [];
    const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
    return [
      {
        code: "AUDIT_GPU_TARGET_MISSING",
        message: `${first.lacking.join(", ")} is declared, and ${first.path}${more}${isOwn ? "" : " of the base image"} has no code for it`,
        details: found.slice(0, shown).map(({ path, targets }) => `    ${path}: ${targets.join(" ")}`),
        fix: isOwn
          ? "compile all libraries with {{gpu.offload}} of the template's view, or declare the targets that they have"
          : "take a base whose libraries have the target, where the program calls this one",
      },
    ];
  };
  return { lies: problem(true), notes: problem(false) };
}

/** Declared targets that no file has, if the image has programs and a compiler that may make them at run time: no lie, but not compiled yet. */
export function uncompiledTargets(
  of: CodeOf,
  inspection: ImageInspection,
  origin: ImageOrigin,
): readonly string[] {
  if (compiledOf(origin).length === 0 || isUnread(of, inspection) || !mayCompile(of, inspection, origin))
    return [];
  return missingIn(of, of.targetsOf(origin.base));
}

function missingIn({ code, isFound }: CodeOf, found: readonly string[]): readonly string[] {
  return code.filter((target) => !isFound(target, found));
}

/** The code that was found, with the declared code if some may be hidden. */
export function measuredCode(
  of: CodeOf,
  found: readonly string[],
  inspection: ImageInspection,
  origin: ImageOrigin,
): readonly string[] {
  return [...new Set([...found, ...(mayHideCode(of, inspection, origin) ? of.code : [])])].sort();
}

function mayHideCode(of: CodeOf, inspection: ImageInspection, origin: ImageOrigin): boolean {
  return isUnread(of, inspection) || mayCompile(of, inspection, origin);
}

function mayCompile(
  { targetsOf, compiler }: CodeOf,
  { files }: ImageInspection,
  { own }: ImageOrigin,
): boolean {
  return targetsOf(own).length === 0 && files.some(({ path }) => compiler.test(path));
}

function isUnread({ hasUnknown, vendor }: CodeOf, inspection: ImageInspection): boolean {
  if (hasUnknown(inspection)) return true;
  const byPath = new Map(inspection.files.map((file) => [file.path, file]));
  return inspection.unopened.some(({ path, reason }) => mayHideGpuCode(byPath.get(path), reason, vendor));
}

/** True for the same name, for a suffix that runs on the same devices, and for a lone cubin of `sm_100f`, which says `sm_100`. */
function isFoundNvidia(wanted: string, found: readonly string[]): boolean {
  if (found.includes(wanted)) return true;
  const target = parseGpuTarget(wanted);
  if (target === null) return true;
  return found.some((name) => {
    const other = parseGpuTarget(name);
    return (
      other !== null && isSameDevice(target, other) && (isLoneFamily(target, other) || covers(other, target))
    );
  });
}

function isSameDevice(a: GpuTarget, b: GpuTarget): boolean {
  return a.kind === b.kind && a.compute.major === b.compute.major && a.compute.minor === b.compute.minor;
}

function isLoneFamily(wanted: GpuTarget, found: GpuTarget): boolean {
  return wanted.suffix === "f" && found.suffix === "" && wanted.kind === "sass";
}

function covers(found: GpuTarget, wanted: GpuTarget): boolean {
  if (wanted.suffix !== "") return false;
  return gpuArchitectures.every(
    ({ compute }) => !targetRunsOn(wanted, compute) || targetRunsOn(found, compute),
  );
}

const shown = 5;

/** Files with such code, the image's own first. */
function holders({ countsOf }: CodeOf, { own, base }: ImageOrigin): readonly string[] {
  return [...own, ...base]
    .map((file) => ({ path: file.path, counts: countsOf(file) }))
    .filter(({ counts }) => counts.length > 0)
    .slice(0, shown)
    .map(({ path, counts }) => `    ${path}: ${counts.join(" ")}`);
}
