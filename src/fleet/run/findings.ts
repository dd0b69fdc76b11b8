/** What is wrong with the images of a plan besides those that failed: with kept ones, and with axes that made no difference. */

import type { Problem } from "../../errors.ts";
import type { World } from "../../io/world.ts";
import type { ImageEffect } from "../../lock/image-audit.ts";
import { ignoresMarch } from "../../lock/needed-requirement.ts";
import { dockerHolder } from "../../oci/engine/built-image.ts";
import type { RegistryAccess } from "../../oci/registry/registry-flags.ts";
import { auditImages, auditSubject, isBuilt } from "../audit/audit-images.ts";
import type { Examining } from "../audit/image-examiner.ts";
import { unusedAxes } from "../audit/unused-axes.ts";
import { holderOf } from "../engines/engine.ts";
import { type EngineChoice, engineFor } from "../engines/engine-choice.ts";
import type { Plan } from "../plan/planned-cell.ts";

export type OnEffect = (cell: string, effect: ImageEffect) => void;

export interface FindingOptions {
  readonly engine: EngineChoice;
  readonly access: RegistryAccess;
}

/** A warning that `strict` makes an error. */
export function isStrict({ code }: Problem): boolean {
  return code === "AUDIT_CPU_COMPILED_FOR";
}

/**
 * Opens the images of kept cells again: a finding that failed one build fails the next build until somebody cures the cause. An image that
 * cannot be opened is a finding.
 */
export async function keptFindings(
  plan: Plan,
  { engine: choice, access }: FindingOptions,
  world: World & Examining,
  onEffect: OnEffect,
): Promise<readonly Problem[]> {
  const kept = plan.cells.filter(({ action }) => action === "keep").filter(isBuilt);
  const engine = kept.some(({ locked }) => locked.digest === null) ? await engineFor(choice, world) : null;
  const audited = await auditImages(kept.map(auditSubject), plan.matrix, {
    ...{ access, world, onEffect },
    holder: engine === null ? dockerHolder(world.env) : holderOf(engine),
  });
  return audited.flatMap(({ lies, notes, failure }) => [
    ...lies,
    ...notes.filter(isStrict),
    ...(failure === null ? [] : [failure]),
  ]);
}

/** Without `strict`, kept images were not opened: of them the lock knows whether they ignore the march. */
export function unusedIn({ cells }: Plan, effects: ReadonlyMap<string, ImageEffect>): readonly Problem[] {
  const marchIgnored: ImageEffect = {
    code: null,
    layers: null,
    settings: null,
    ignoresMarch: true,
    uncompiled: [],
  };
  const made = cells.flatMap(({ cell, action, locked }) => {
    const known = effects.get(cell.id);
    if (known !== undefined) return [{ cell, effect: known }];
    const isPlain = action === "keep" && locked !== null && ignoresMarch(locked);
    return isPlain ? [{ cell, effect: marchIgnored }] : [];
  });
  return unusedAxes(made).map(({ problem }) => problem);
}
