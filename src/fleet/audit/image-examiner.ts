/** Opens built images: the lock records what their files need, and a declaration that is not true fails the cell. */

import pLimit from "p-limit";
import { faultOf, ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import {
  auditImage,
  type AuditRequest,
  type ImageAudit,
  type ImageEffect,
} from "../../inspect/audit/audit-image.ts";
import { openFromRegistry } from "../../inspect/image/from-registry.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import { claimsNoCode, type Measured, noGpus } from "../../lock/requirement.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { BuildWatch, BuiltImage } from "../engines/engine.ts";
import { builtImageOpener, type ImageHolder, type OpenerOptions } from "./open-built.ts";
import { remember } from "../../io/collections.ts";
import { parseJson } from "../../io/json.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { diffIdsOf, manifestParts } from "../../inspect/image/manifest.ts";
import type { OpenedImage } from "../../inspect/image/open-layers.ts";
import { type BaseOrigin, sharedLayers } from "../../inspect/audit/origin.ts";

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
 * a failure where the image claims to have no GPU code.
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
        const shut = notOpened(error);
        if (claimsNoCode(options.declared(subject.cell)?.requires ?? noGpus)) throwProblems(shut.warnings);
        return shut;
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

/**
 * Asks for the layers of each base once. If an image lacks the layers of its base, because a builder wrote them anew, the base is opened too.
 * Throws `IMAGE_NOT_FOUND`, and errors of registry and base.
 */
function createOriginReader({ registry, cache, holder }: OpenerOptions) {
  const known = new Map<string, Promise<readonly string[] | null>>();
  return async (
    base: DeclaredImage["base"],
    image: OpenedImage,
    platform: string,
    watch: BuildWatch,
  ): Promise<BaseOrigin> => {
    if (base === null) return { kind: "none" };
    if (isLocal(base)) return localOrigin(holder, base, image, watch);
    const key = `${formatImageReference(base)} ${platform}`;
    const asked = remember(known, key, () => readDiffIds(registry, base, platform));
    const diffIds = await asked.catch(async (error: unknown) => {
      // The next image may ask again.
      known.delete(key);
      watch.signal.throwIfAborted();
      const held = await heldDiffIds(holder, base, watch);
      // It may hold the base for another platform.
      if (sharedLayers(image.diffIds, held) === null) throw error;
      watch.onLog(`its base is told by the engine's copy: ${faultOf(error)}`);
      return held;
    });
    const count = sharedLayers(image.diffIds, diffIds);
    if (count !== null && image.diffIds?.length === image.layers.length) return { kind: "layers", count };
    const opened = await openFromRegistry(registry, base, { platform, cache });
    if (opened === null) throw gone(base);
    return { kind: "image", image: opened };
  };
}

function isLocal(base: DeclaredImage["base"]): base is LockedLocal {
  return base !== null && "id" in base;
}

/** Engines keep a base's layers unchanged in an image built on the base. */
async function localOrigin(
  holder: Pick<ImageHolder, "diffIds">,
  { engine, id }: LockedLocal,
  { diffIds, layers: opened }: OpenedImage,
  watch: BuildWatch,
): Promise<BaseOrigin> {
  const held = (await holder.diffIds?.(id, watch).catch(() => null)) ?? null;
  watch.signal.throwIfAborted();
  const count = sharedLayers(diffIds, held);
  if (count !== null && diffIds?.length === opened.length) return { kind: "layers", count };
  throw new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `its base ${id} is in no registry: only ${engine} on the machine that built it has it`,
    fix: "run this on that machine; or push the base, and build on the registry's image: --replace-base OLD=NEW",
  });
}

/** The diff ids of the engine's copy of exactly this digest; null where it has none. */
async function heldDiffIds(
  { diffIds }: Pick<ImageHolder, "diffIds">,
  base: ImageReference,
  watch: BuildWatch,
): Promise<readonly string[] | null> {
  if (diffIds === null || base.digest === null) return null;
  const found = await diffIds(formatImageReference({ ...base, tag: null }), watch).catch(() => null);
  return found === null || found.length === 0 ? null : found;
}

async function readDiffIds(
  registry: OpenerOptions["registry"],
  base: ImageReference,
  platform: string,
): Promise<readonly string[] | null> {
  const top = await registry.readManifest(base);
  if (top === null) throw gone(base);
  const manifest = isIndexType(top.mediaType)
    ? await registry.readManifest(withDigest(base, selectPlatformManifest(top, base, platform)))
    : top;
  if (manifest === null) throw gone(base);
  const { config } = manifestParts(parseJson(manifest.bytes), formatImageReference(base));
  return diffIdsOf(parseJson(await registry.readBlob(base, config)));
}

function gone(base: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `its base ${formatImageReference(base)} is not in the registry`,
    fix: "push the base again, or move to another with imgmatch lock --update-bases",
  });
}
