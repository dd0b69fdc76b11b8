/** Finds GPU targets that are declared and not in the image. */

import { partsOfCode } from "../../hardware/ptx-versions.ts";
import type { Problem } from "../../errors.ts";
import type { Measured } from "../../lock/requirement.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import { codeKeys, hidingGpuCode } from "../file-inspection.ts";
import type { ImageInspection } from "../inspection.ts";
import { isPtx } from "../../hardware/gpu-target.ts";
import { type Library, vendorCode } from "../vendor-code.ts";
import { compiledOf } from "./cpu-use.ts";
import type { ImageOrigin } from "./origin.ts";

export interface Findings {
  readonly lies: readonly Problem[];
  readonly notes: readonly Problem[];
}

/** The audit of an image's declared code for one vendor. */
export interface GpuAudit {
  /** Under the vendor's key. */
  readonly measured: Partial<Pick<Measured, "cuda" | "rocm">>;
  /** About the declared targets. */
  readonly code: Findings;
  /** About all else that is declared. */
  readonly rest: Findings;
  /** Declared targets that no file has, but that a compiler in the image could make at run time. */
  readonly uncompiled: readonly string[];
}

/** How the declared code of one vendor is found in files. */
export interface CodeRules {
  readonly vendor: GpuVendor;
  readonly isFound: (wanted: string, found: readonly string[]) => boolean;
  /** Programs and libraries that make such code at run time. */
  readonly compiler: RegExp;
  readonly flags: string;
}

interface CodeOf extends CodeRules {
  /** Declared targets. */
  readonly code: readonly string[];
}

interface Declared {
  readonly code: readonly string[];
  readonly or?: readonly { readonly code: readonly string[] }[];
}

/** An image that carries several alternatives has the code of all. */
export function declaredCode({ code, or = [] }: Declared): readonly string[] {
  return [...new Set([code, ...or.map((other) => other.code)].flat())];
}

/** @param inImage the targets that the image has */
export function auditCode(
  rules: CodeRules,
  declared: Declared,
  inImage: readonly string[],
  inspection: ImageInspection,
  origin: ImageOrigin,
) {
  const of: CodeOf = { ...rules, code: declaredCode(declared) };
  return {
    measured: measuredCode(of, inImage, inspection, origin),
    code: of.code.length === 0 ? undeclaredCode(of, inspection) : codeLies(of, inspection, origin),
    uncompiled: uncompiledTargets(of, inspection, origin),
  };
}

/**
 * A declared target is a lie if no file has it. It is a note if only files of the base have the target, while the image's own files have code
 * for other targets. It is neither if code may be hidden: an unknown kind of code, an unread file, and, if the image's own files have no GPU
 * code, a compiler for use at run time.
 */
function codeLies(of: CodeOf, inspection: ImageInspection, origin: ImageOrigin): Findings {
  const { targets: targetsOf } = vendorCode[of.vendor];
  const inOwn = targetsOf(origin.own);
  const anywhere = [...inOwn, ...targetsOf(origin.base)];
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
 * Where no code is declared, code of another library than the GPU's vendor's is a lie, and so is a file that may hold some: hosts would be told
 * that only the toolkit's own libraries count.
 */
function undeclaredCode(of: CodeOf, inspection: ImageInspection): Findings {
  const { libraries, isOfVendor } = vendorCode[of.vendor];
  const isOther = ({ path }: { readonly path: string }) => !isOfVendor(path) && !/\.[ao]$/.test(path);
  const found = libraries(inspection.files).filter(isOther);
  const [first] = [...found, ...unreadCode(of, inspection).filter(isOther)];
  if (first === undefined) return { lies: [], notes: [] };
  const all = [...new Set(found.flatMap(({ targets }) => targets))].sort();
  const inEach = all.filter((target) => found.every(({ targets }) => targets.includes(target)));
  const problem: Problem = {
    code: "AUDIT_GPU_CODE_UNDECLARED",
    message: `no compute is declared, and ${first.path}${andMore(found)} ${found.length > 0 ? `has code for ${all.join(", ")}` : "may have GPU code"}`,
    fix: `give the row a compute value${inEach.length === 0 ? "" : `, with the targets that each library has: ${JSON.stringify(inEach)}`}`,
    details: targetLines(found),
  };
  return { lies: [problem], notes: [] };
}

/** Declared targets that no file has, if the image has programs and a compiler for use at run time: no lie, but not compiled yet. */
function uncompiledTargets(of: CodeOf, inspection: ImageInspection, origin: ImageOrigin): readonly string[] {
  const isUnread = unreadCode(of, inspection).length > 0;
  if (compiledOf(origin).length === 0 || isUnread || !mayCompile(of, inspection, origin)) return [];
  return missingIn(of, vendorCode[of.vendor].targets(origin.base));
}

function missingIn({ code, isFound }: CodeOf, found: readonly string[]): readonly string[] {
  return code.filter((entry) => !isFound(partsOfCode(entry).target, found));
}

/** The code that was found, with the declared code if some may be hidden. */
function measuredCode(
  of: CodeOf,
  found: readonly string[],
  inspection: ImageInspection,
  origin: ImageOrigin,
): readonly string[] {
  return [...new Set([...found, ...(mayHideCode(of, inspection, origin) ? of.code : [])])].sort();
}

function mayHideCode(of: CodeOf, inspection: ImageInspection, origin: ImageOrigin): boolean {
  return unreadCode(of, inspection).length > 0 || mayCompile(of, inspection, origin);
}

function mayCompile({ vendor, compiler }: CodeOf, { files }: ImageInspection, { own }: ImageOrigin): boolean {
  return vendorCode[vendor].targets(own).length === 0 && files.some(({ path }) => compiler.test(path));
}

/** Files that may hold code that nobody knows. */
function unreadCode({ vendor }: CodeOf, { files, unopened }: ImageInspection) {
  const unknown = files.filter((file) => vendorCode[vendor].unknownKinds(file).length > 0);
  return [...hidingGpuCode(files, unopened, vendor), ...unknown];
}

/** So many files are named for each problem. */
export const shown = 5;

/** Behind the first of several. */
export function andMore(found: readonly unknown[]): string {
  return found.length > 1 ? ` and ${found.length - 1} more` : "";
}

export function targetLines(libraries: readonly Pick<Library, "path" | "targets">[]): readonly string[] {
  return libraries.slice(0, shown).map(({ path, targets }) => `    ${path}: ${targets.join(" ")}`);
}

/** Files with such code, the image's own first. */
function holders({ vendor }: CodeOf, { own, base }: ImageOrigin): readonly string[] {
  return [...own, ...base]
    .map((file) => ({ path: file.path, targets: file[codeKeys[vendor]]?.targets ?? [] }))
    .filter(({ targets }) => targets.length > 0)
    .slice(0, shown)
    .map(({ path, targets }) => {
      const counts = targets.map(({ target, modules }) => `${target}×${modules}`);
      return `    ${path}: ${counts.join(" ")}`;
    });
}
