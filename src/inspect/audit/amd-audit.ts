/** Audits declared code for AMD: also library by library, since a program fails on a card that a library of the program does not serve. */

import type { Problem } from "../../errors.ts";
import type { RocmRequirement } from "../../lock/requirement.ts";
import { amdLibraries, coversAmd, servesTarget, targetsOfAll } from "../amd/amd-libraries.ts";
import type { ImageInspection } from "../inspection.ts";
import {
  andMore,
  auditCode,
  type CodeRules,
  declaredCode,
  type Findings,
  type GpuAudit,
  targetLines,
} from "./gpu-lies.ts";
import type { ImageOrigin } from "./origin.ts";

const rules: CodeRules = {
  vendor: "amd",
  isFound: (wanted, found) => found.some((target) => coversAmd(target, wanted)),
  compiler: /\/(?:lib(?:hiprtc|amd_comgr)[\w.-]*\.so[\d.]*|hipcc|amdclang(?:\+\+)?)$/,
  flags: "{{gpu.offload}}",
};

export function auditAmd(
  requires: RocmRequirement,
  inspection: ImageInspection,
  origin: ImageOrigin,
): GpuAudit {
  const served = inspection.amd === null ? [] : targetsOfAll(inspection.amd);
  const { measured, ...code } = auditCode(rules, requires, served, inspection, origin);
  const rest = libraryLies(declaredCode(requires), inspection, origin);
  return { ...code, measured: { rocm: { code: measured } }, rest };
}

/**
 * Finds libraries without code for a declared target of AMD that others have: a program fails there when it calls one. One of the image's own
 * libraries is a lie; a library of the base is a note, as the program may never call the library.
 */
function libraryLies(code: readonly string[], { amd }: ImageInspection, { own }: ImageOrigin): Findings {
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
    return [
      {
        code: "AUDIT_GPU_TARGET_MISSING",
        message: `${first.lacking.join(", ")} is declared, and ${first.path}${andMore(found)}${isOwn ? "" : " of the base image"} has no code for it`,
        details: targetLines(found),
        fix: isOwn
          ? "compile all libraries with {{gpu.offload}} of the template's view, or declare the targets that they have"
          : "take a base whose libraries have the target, where the program calls this one",
      },
    ];
  };
  return { lies: problem(true), notes: problem(false) };
}
