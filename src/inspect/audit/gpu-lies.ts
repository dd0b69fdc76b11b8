/** GPU targets that are declared and nowhere in the image. */

import type { Problem } from "../../errors.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { type GpuTarget, parseGpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import type { CudaRequirement } from "../../hardware/requirement.ts";
import type { ImageInspection, InspectedFile } from "../inspection.ts";
import { compiledOf } from "./cpu-use.ts";
import type { ImageOrigin } from "./origin.ts";

export interface Findings {
  readonly lies: readonly Problem[];
  readonly notes: readonly Problem[];
}

/**
 * A declared target is a lie where no file has it, and a note where only files of the base have it, while the image's own files hold code
 * for others. Nothing is said where something could hide: a kind of code that this version does not know, a file that could not be
 * opened, and, in images whose own files hold no GPU code, a compiler that makes it at run time.
 */
export function codeLies(
  { code }: CudaRequirement,
  inspection: ImageInspection,
  origin: ImageOrigin,
): Findings {
  const inOwn = targetsOf(origin.own);
  const anywhere = [...inOwn, ...targetsOf(origin.base)];
  const missing = (found: readonly string[]) => missingIn(code, found);
  const nowhere = mayHideCode(inspection, origin) ? [] : missing(anywhere);
  const elsewhere = inOwn.length === 0 ? [] : missing(inOwn).filter((target) => isFound(target, anywhere));
  const [sass, ptx] = [nowhere.filter(isSass), nowhere.filter((target) => !isSass(target))];
  return {
    lies: [
      ...(sass.length === 0 ? [] : [missingCode(sass, anywhere, origin)]),
      ...(ptx.length === 0 ? [] : [missingPtx(ptx, anywhere, origin)]),
    ],
    notes: elsewhere.length === 0 ? [] : [onlyInBase(elsewhere, inOwn, origin)],
  };
}

/**
 * Declared targets that no file has, of an image with programs of its own and a compiler that may make them at run time: no lie, but nobody
 * has compiled these targets.
 */
export function uncompiledTargets(
  { code }: CudaRequirement,
  inspection: ImageInspection,
  origin: ImageOrigin,
): readonly string[] {
  if (compiledOf(origin).length === 0 || isUnread(inspection) || !mayCompile(inspection, origin)) return [];
  return missingIn(code, targetsOf(origin.base));
}

function missingIn(code: readonly string[], found: readonly string[]): readonly string[] {
  return code.filter((target) => !isFound(target, found));
}

/** Whether GPU code may be where nobody has looked. */
export function mayHideCode(inspection: ImageInspection, origin: ImageOrigin): boolean {
  return isUnread(inspection) || mayCompile(inspection, origin);
}

function mayCompile({ files }: ImageInspection, { own }: ImageOrigin): boolean {
  return targetsOf(own).length === 0 && files.some(({ path }) => runtimeCompiler.test(path));
}

function isUnread({ files, gpu, unopened }: ImageInspection): boolean {
  if (gpu !== null && gpu.unknownKinds.length > 0) return true;
  const byPath = new Map(files.map((file) => [file.path, file]));
  // Unknown CPU instructions, and programs for other CPUs, were searched for GPU code all the same. Code for AMD hides none for NVIDIA.
  const isOther = (path: string, reason: string) => {
    const file = byPath.get(path);
    if (file?.amd?.damage.includes(reason) === true) return true;
    return (
      file?.program != null &&
      /^(\d+ unknown instructions|code for )/.test(reason) &&
      !file.gpu?.damage.includes(reason)
    );
  };
  return unopened.some(({ path, reason }) => !isOther(path, reason));
}

const runtimeCompiler = /\/(?:lib(?:nvrtc|nvJitLink|nvvm|nvptxcompiler)[\w.-]*\.so[\d.]*|nvcc|ptxas|cicc)$/;

function targetsOf(files: readonly InspectedFile[]): readonly string[] {
  const targets = files.flatMap(({ gpu }) => [
    ...(gpu?.targets ?? []),
    // Of what the device linker left, the driver takes the PTX.
    ...(gpu?.relocatable ?? []).filter(({ target }) => !isSass(target)),
  ]);
  return [...new Set(targets.map(({ target }) => target))].sort();
}

function isSass(target: string): boolean {
  return target.startsWith("sm_");
}

/** By name. Plain code may have a suffix that runs on all the same devices, and a lone cubin of `sm_100f` says `sm_100`. */
function isFound(wanted: string, found: readonly string[]): boolean {
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

function missingCode(missing: readonly string[], found: readonly string[], origin: ImageOrigin): Problem {
  return {
    code: "AUDIT_GPU_TARGET_MISSING",
    message: `${missing.join(", ")} is declared, and no file has machine code for it: ${foundText(found)}`,
    details: holders(origin),
    fix: "compile with {{gpu.gencode}} of the template's view, or declare the compute capabilities that are there",
  };
}

function missingPtx(missing: readonly string[], found: readonly string[], origin: ImageOrigin): Problem {
  return {
    code: "AUDIT_PTX_MISSING",
    message: `PTX for ${missing.join(", ")} is promised, and no file has it: ${foundText(found)}`,
    details: holders(origin),
    fix: "compile with {{gpu.gencode}} of the template's view, or take +ptx away from the compute value",
  };
}

function onlyInBase(missing: readonly string[], own: readonly string[], origin: ImageOrigin): Problem {
  return {
    code: "AUDIT_GPU_TARGET_MISSING",
    message: `only files of the base image have ${missing.join(", ")}; the image's own have ${own.join(", ")}`,
    details: holders(origin),
    fix: "check that the image's own files are compiled with {{gpu.gencode}} of the template's view",
  };
}

function foundText(found: readonly string[]): string {
  return found.length === 0 ? "there is no GPU code in the image" : `found were ${found.join(", ")}`;
}

const shown = 5;

/** The files that decide, the image's own first. */
function holders({ own, base }: ImageOrigin): readonly string[] {
  return [...own, ...base]
    .filter(({ gpu }) => gpu !== null && gpu.targets.length > 0)
    .slice(0, shown)
    .map(
      ({ path, gpu }) =>
        `    ${path}: ${(gpu?.targets ?? []).map(({ target, modules }) => `${target}×${modules}`).join(" ")}`,
    );
}
