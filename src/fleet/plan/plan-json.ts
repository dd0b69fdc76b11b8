/** Writes a plan as `imgmatch plan --json` prints it: a contract. */

import { type Problem, wholeMessage } from "../../errors.ts";
import type { LockedImage } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { type Cell, dockerfilePath } from "../cells/cell.ts";
import type { CellContext } from "../context/cell-context.ts";
import type { RenderedFile } from "../dockerfile/render-cell.ts";
import { contextFolderOf } from "../template/render-settings.ts";
import {
  type Action,
  actions,
  type InputComparison,
  type Plan,
  type PlannedCell,
  type RetiredImage,
} from "./planned-cell.ts";

const planSchemaVersion = 1;

export interface PlanJson {
  readonly schemaVersion: typeof planSchemaVersion;
  readonly name: string;
  readonly version: string;
  readonly repository: string;
  readonly matrixDigest: Digest;
  readonly counts: Readonly<Record<Action, number>>;
  readonly cells: readonly PlanCellJson[];
  /** Absent without problems. A base that does not exist, or whose registry does not answer, is one. */
  readonly problems?: readonly Pick<Problem, "code" | "message" | "fix" | "at">[];
  /** What a registry did not tell, and why; absent if each answered, or none was asked. */
  readonly unknown?: string;
}

/** `requires` is declared. `measured` and `digest` are the lock's; `measured` only of a cell that is kept. */
export interface PlanCellJson
  extends Pick<LockedImage, "axes" | "platform" | "digest" | "requires" | "measured">,
    Pick<PlannedCell, "action" | "reason" | "tag" | "inputDigest" | "bases" | "published" | "moved"> {
  readonly cell: string;
  /** Absent for the fleet's. */
  readonly repository?: string;
  /** The day from which on it is deprecated; absent for most. */
  readonly deprecated?: string;
  readonly dockerfile: string;
  /** Absent for cells that nobody builds. */
  readonly build?: CellBuildJson;
  /** Inputs that differ from the lock's. `changed` is null if the lock does not have the input. */
  readonly changes: readonly InputComparison[];
}

/** All that a script needs to build the cell itself. Paths are from the matrix's folder. */
export interface CellBuildJson {
  /** The Dockerfile as it stands, or a template: `dockerfile` is the rendered one. */
  readonly template: string;
  readonly context: string;
  /** Folders by name, from the matrix. Absent without any. */
  readonly contexts?: Readonly<Record<string, string>>;
  /** null for the last stage. */
  readonly target: string | null;
  readonly args: Readonly<Record<string, string>>;
  /** Labels of the CI machine; null if the matrix names none. */
  readonly runner: readonly string[] | null;
}

export function planToJson(
  plan: Plan,
  problems: readonly Problem[] = [],
  unknown: string | null = null,
): PlanJson {
  const { matrix, cells, retired } = plan;
  return {
    schemaVersion: planSchemaVersion,
    name: matrix.name,
    version: matrix.version,
    repository: matrix.repository,
    matrixDigest: matrix.digest,
    counts: countActions(plan),
    cells: [...cells.map(cellToJson), ...retired.map(retiredToJson)],
    ...(problems.length > 0 && { problems: problems.map(problemToJson) }),
    ...(unknown !== null && { unknown }),
  };
}

function problemToJson({ code, message, details = [], fix, at }: Problem) {
  const whole = wholeMessage({ message, details });
  return { code, message: whole, ...(fix !== undefined && { fix }), ...(at !== undefined && { at }) };
}

function cellToJson({ cell, comparison, locked, ...planned }: PlannedCell): PlanCellJson {
  const { action, reason, tag, inputDigest, bases, published, moved } = planned;
  const repository = planned.inputs === null ? locked?.repository : cell.settings.repository?.value;
  return {
    cell: cell.id,
    ...(repository !== undefined && { repository }),
    action,
    reason,
    axes: cell.axes,
    platform: cell.platform,
    tag,
    inputDigest,
    digest: locked?.digest ?? null,
    requires: cell.requires,
    ...(action !== "keep" || locked?.measured === undefined ? {} : { measured: locked.measured }),
    bases,
    ...(cell.deprecated !== undefined && { deprecated: cell.deprecated }),
    dockerfile: dockerfilePath(cell),
    ...(planned.dockerfile !== null && { build: buildOf(cell, planned.dockerfile) }),
    changes: comparison.filter(({ changed }) => changed !== false),
    published,
    moved,
  };
}

function buildOf({ settings }: Cell, { args }: RenderedFile): CellBuildJson {
  return {
    template: settings.template.value,
    context: contextFolderOf(settings).value,
    target: settings.target?.value ?? null,
    ...(settings.contexts !== null && { contexts: settings.contexts.value }),
    args,
    runner: settings.runner?.value ?? null,
  };
}

/** `imgmatch plan --explain CELL --json`: a contract. */
export type ExplainedCell = ReturnType<typeof explainedToJson>;

export function explainedToJson(planned: PlannedCell, inputs: readonly InputComparison[]) {
  const { cell, action, reason, tag, inputDigest, locked, moved, changedFiles } = planned;
  return {
    schemaVersion: 1,
    cell: cell.id,
    platform: cell.platform,
    action,
    reason,
    tag,
    inputDigest,
    locked: locked === null ? null : { tag: locked.tag, digest: locked.digest },
    lockedInputDigest: locked?.inputDigest ?? null,
    inputs,
    // The sent files, by the instruction that takes them. `whole` is the reason for sending all.
    ...(planned.context === null ? {} : { context: takenJson(planned.context) }),
    // Known only on a machine that built with the context of then.
    ...(changedFiles && { contextFiles: changedFiles }),
    moved,
  };
}

function takenJson({ inputs: { whole, taken } }: CellContext) {
  return { whole, taken: taken.map(({ instruction, paths }) => ({ instruction, paths })) };
}

function retiredToJson({ cell, image }: RetiredImage): PlanCellJson {
  const { axes, platform, repository, tag, inputDigest, digest, requires, bases } = image;
  return {
    cell,
    ...(repository !== undefined && { repository }),
    action: "retired",
    reason: "in the lock, and the matrix has no such cell",
    axes,
    platform,
    tag,
    inputDigest,
    digest,
    requires,
    bases: bases.map((base) => ({ ...base, used: base.ref })),
    dockerfile: dockerfilePath({ id: cell }),
    changes: [],
    published: null,
    moved: [],
  };
}

export function countActions({ cells, retired }: Pick<Plan, "cells" | "retired">): Record<Action, number> {
  const counts = Object.fromEntries(actions.map((action) => [action, 0])) as Record<Action, number>;
  for (const { action } of cells) counts[action]++;
  counts.retired += retired.length;
  return counts;
}
