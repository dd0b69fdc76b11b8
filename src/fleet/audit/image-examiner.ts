/** Opens built images: the lock records what their files need, and a declaration that is not true fails the cell. */

import pLimit from "p-limit";
import { faultOf, type Problem, throwProblems } from "../../errors.ts";
import type { ImageAudit, ImageEffect } from "../../lock/image-audit.ts";
import type { LockedCode } from "../../lock/lock.ts";
import { claimsNoCode, type Measured, noGpus } from "../../lock/requirement.ts";
import type { AuditorOptions, BuildWatch, ExaminedImage } from "../../oci/engine/built-image.ts";

/** Opens an image, and compares its files with what is declared of it. Throws `IMAGE_…`, `BASE_UNRESOLVED`, and errors of registry and engine. */
export type AuditImage = (subject: ExaminedImage, watch: BuildWatch) => Promise<ImageAudit>;

/** The port to the files of images. */
export interface Examining {
  readonly openAuditor: (options: AuditorOptions) => Promise<AuditImage>;
}

export interface Examination {
  readonly measured: Measured | null;
  readonly code?: LockedCode | undefined;
  readonly warnings: readonly Problem[];
}

export const unexamined: Examination = { measured: null, warnings: [] };

/**
 * Throws `AUDIT_…` for what the matrix declares and the image's files show to be untrue. An image that cannot be opened is a warning, and
 * a failure where the image claims to have no GPU code.
 */
export type Examine = (subject: ExaminedImage, watch: BuildWatch) => Promise<Examination>;

export interface ExaminerOptions extends Pick<AuditorOptions, "declared"> {
  /** Called for each image that was opened and is as declared. */
  readonly onEffect?: (cell: string, effect: ImageEffect) => void;
}

/** Opens one image after the other: of images on one base, the first opens it for all. */
export function imageExaminer(audit: AuditImage, options: ExaminerOptions): Examine {
  const one = pLimit(1);
  return (subject, watch) =>
    one(async () => {
      watch.signal.throwIfAborted();
      const found = await audit(subject, watch).catch((error: unknown) => {
        watch.signal.throwIfAborted();
        const shut = notOpened(error);
        if (claimsNoCode(options.declared(subject.cell)?.requires ?? noGpus)) throwProblems(shut.warnings);
        return shut;
      });
      if (!("lies" in found)) return found;
      throwProblems(found.lies);
      options.onEffect?.(subject.cell, found.effect);
      for (const line of summaryOf(found)) watch.onLog(line);
      return { measured: found.measured, code: found.code, warnings: found.notes };
    });
}

/** The examination of an image that stays shut: the build goes on with a warning. */
function notOpened(error: unknown): Examination {
  const why = faultOf(error);
  const warning: Problem = {
    code: "AUDIT_NOT_OPENED",
    message: `the image was not opened, so its declared requirement holds: ${why}`,
    fix: "imgmatch audit opens it later; measure: false in the matrix keeps images shut",
  };
  return { measured: null, warnings: [warning] };
}

function summaryOf({ measured }: ImageAudit): readonly string[] {
  const { cpu, cuda, rocm } = measured;
  return [
    cpu.unused.length === 0
      ? "opened: every declared CPU feature stays"
      : `opened: declared and not used: ${cpu.unused.join(" ")}`,
    ...[cuda, rocm].flatMap((each) =>
      each == null ? [] : [`opened: GPU code ${each.code.join(" ") || "none"}`],
    ),
  ];
}
