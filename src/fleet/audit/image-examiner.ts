/** Opens built images: the lock records what their files need, and a declaration that is not true fails the cell. */

import pLimit from "p-limit";
import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import {
  type AuditRequest,
  auditImage,
  type ImageAudit,
  type ImageEffect,
} from "../../inspect/audit/audit-image.ts";
import { openFromRegistry } from "../../inspect/image/from-registry.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import type { Measured } from "../../lock/requirement.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { BuildWatch, BuiltImage } from "../engines/engine.ts";
import { createOriginReader, isLocal } from "./base-reader.ts";
import { type OpenerOptions, builtImageOpener } from "./open-built.ts";

/** An image in an engine, or in a registry by its digest. */
export interface ExaminedImage {
  readonly cell: string;
  readonly image: BuiltImage | ImageReference;
}

export interface Examination {
  readonly measured: Measured | null;
  readonly warnings: readonly Problem[];
}

export const unexamined: Examination = { measured: null, warnings: [] };

/**
 * Throws `AUDIT_…` for what the matrix declares and the image's files show to be untrue. An image that cannot be opened is a warning, and
 * never a failure.
 */
export type Examine = (subject: ExaminedImage, watch: BuildWatch) => Promise<Examination>;

export interface DeclaredImage extends Omit<AuditRequest, "base"> {
  /** The base of the build, by digest or by an engine's id; null for `scratch`. */
  readonly base: ImageReference | LockedLocal | null;
}

export interface ExaminerOptions extends OpenerOptions {
  /** The declaration of a cell's image; null if its base is unknown. */
  readonly declared: (cell: string) => DeclaredImage | null;
  /** Called for each image that was opened and is as declared. */
  readonly onEffect?: (cell: string, effect: ImageEffect) => void;
}

/** Opens one image after the other: of images on one base, the first opens it for all. */
export function imageExaminer(options: ExaminerOptions): Examine {
  const one = pLimit(1);
  const audit = imageAuditor(options);
  return (subject, watch) =>
    one(async () => {
      watch.signal.throwIfAborted();
      const found = await audit(subject, watch).catch((error: unknown) => {
        watch.signal.throwIfAborted();
        return notOpened(error);
      });
      if (!("lies" in found)) return found;
      throwProblems(found.lies);
      options.onEffect?.(subject.cell, found.effect);
      for (const line of summaryOf(found)) watch.onLog(line);
      return { measured: found.measured, warnings: found.notes };
    });
}

export function imageAuditor(
  options: Omit<ExaminerOptions, "onEffect">,
): (subject: ExaminedImage, watch: BuildWatch) => Promise<ImageAudit> {
  const { declared, registry, cache } = options;
  const originOn = createOriginReader(options);
  const openBuilt = builtImageOpener(options);
  return async ({ cell, image }, watch) => {
    const about = declared(cell);
    if (about === null)
      throw new ImgmatchError({
        code: "BASE_UNRESOLVED",
        message: `${cell}: its base is not known, so its own files cannot be told from the base's`,
        fix: "name the bases as when it was built: --replace-base OLD=NEW",
      });
    const { platform, base } = about;
    const isPushed = "registry" in image;
    const opened = isPushed
      ? await openFromRegistry(registry, image, { platform, cache })
      : await openBuilt({ cell, image, base: isLocal(base) ? null : base, platform }, watch);
    if (opened === null)
      throw new ImgmatchError({
        code: "IMAGE_NOT_FOUND",
        message: `the registry does not have ${isPushed ? formatImageReference(image) : cell}`,
        fix: "imgmatch verify lists everything that is gone",
      });
    return auditImage(opened, { ...about, base: await originOn(base, opened, platform, watch) });
  };
}

/** The examination of an image that stays shut: the build goes on with a warning. */
function notOpened(error: unknown): Examination {
  const why = error instanceof ImgmatchError ? error.problems[0].message : String(error);
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
