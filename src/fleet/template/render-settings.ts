/** Renders the templates among a cell's settings: its Dockerfile, target, base images, context and repository. */

import { posix } from "node:path";
import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import type { CellSettings } from "../cells/cell-settings.ts";
import type { ExpandedCell } from "../cells/expand.ts";
import { memoizeBy, memoizeText } from "../cells/memoize-by.ts";
import type { Bases, Located, Matrix } from "../matrix/matrix.ts";
import { isRepository } from "../../oci/reference.ts";
import { referenceProblems } from "../matrix/matrix-problems.ts";
import { compileText } from "./matrix-template.ts";
import { argumentViewOnce } from "./view.ts";

const texts = ["template", "target", "context", "repository"] as const;

/**
 * Renders the settings of all cells that are to be built. Throws every mistake once, for the first cell that has it.
 *
 * @param moved the matrix's repository before `--registry` moved it: repositories beside it move too
 */
export function renderCellSettings(
  matrix: Matrix,
  cells: readonly ExpandedCell[],
  moved = matrix.repository,
): readonly ExpandedCell[] {
  const problems = new Map<object, readonly Problem[]>();
  const settled = cells.map((entry): ExpandedCell => {
    const { cell, skipped } = entry;
    if (skipped !== null || isPlain(cell.settings)) return entry;
    try {
      return { cell: { ...cell, settings: renderSettings(cell, matrix, moved) }, skipped };
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      if (!problems.has(cell.settings)) problems.set(cell.settings, error.problems);
      return entry;
    }
  });
  const all = [...problems.values()].flat();
  throwProblems([...new Map(all.map((problem) => [JSON.stringify(problem.at), problem])).values()]);
  return settled;
}

/** The folder of a cell's build context, relative to the matrix. */
export function contextFolderOf({ context, template }: CellSettings): Located<string> {
  return context ?? { value: posix.dirname(template.value), at: template.at };
}

const isPlain = memoizeBy((settings: CellSettings): boolean => {
  const bases = Object.values(settings.base?.value ?? {});
  if (settings.repository !== null) return false;
  return ![...texts.map((name) => settings[name]?.value ?? ""), ...bases].some((text) => text.includes("{{"));
});

function renderSettings(own: Cell, matrix: Matrix, moved: string): CellSettings {
  const { settings } = own;
  // The templates see the matrix's repository, not the repository that is rendered here.
  const cell: Cell = { ...own, settings: { ...settings, repository: null } };
  const withBase: Cell = { ...cell, settings: { ...cell.settings, base: baseOf(cell, matrix) } };
  const view = argumentViewOnce(withBase, matrix);
  const rendered = (name: (typeof texts)[number]) => {
    const text = settings[name];
    return text === null ? null : { ...text, value: renderOf(matrix)(name)(text)(view, cell.id) };
  };
  const target = rendered("target");
  const made: CellSettings = {
    ...withBase.settings,
    template: rendered("template") ?? settings.template,
    // An empty target is no target.
    target: target?.value === "" ? null : target,
    context: rendered("context"),
    repository: placed(rendered("repository"), matrix, moved),
  };
  const key = [...texts.map((name) => made[name]?.value ?? null), made.base?.value ?? null];
  return remember(settledAs(settings), JSON.stringify(key), () => made);
}

/** null for the matrix's own repository. Throws for an invalid repository, and for a repository that `--registry` cannot move. */
function placed(own: Located<string> | null, matrix: Matrix, moved: string): Located<string> | null {
  if (own === null || own.value === moved) return null;
  const { value, at } = own;
  throwProblems(referenceProblems(value, at));
  if (!isRepository(value)) {
    const message = `the repository ${JSON.stringify(value)} has a tag or a digest`;
    const fix = "leave it out: tag: of the matrix decides the tags";
    throw new ImgmatchError({ code: "REFERENCE_INVALID", message, fix, at });
  }
  if (moved === matrix.repository) return own;
  const registryOf = (repository: string) => repository.slice(0, -matrix.name.length);
  const from = registryOf(moved);
  if (value.startsWith(from)) return { value: registryOf(matrix.repository) + value.slice(from.length), at };
  const message = `--registry moves repositories below ${from.slice(0, -1)}, and the repository ${value} is not below it`;
  const fix = "give it the matrix's registry, or build without --registry";
  throw new ImgmatchError({ code: "USAGE", message, fix, at });
}

/** Thousands of cells share a few settings. */
const settledAs = memoizeBy((_: CellSettings) => new Map<string, CellSettings>());

/** Rendered first, because the other settings see the base. */
function baseOf(cell: Cell, matrix: Matrix): Located<Bases> | null {
  const { base } = cell.settings;
  if (base === null) return null;
  const view = argumentViewOnce({ ...cell, settings: { ...cell.settings, base: null } }, matrix);
  const render = renderOf(matrix)("base");
  const value = Object.entries(basesOf(base)).map(([stage, text]) => [stage, render(text)(view, cell.id)]);
  return { value: Object.fromEntries(value), at: base.at };
}

/** One object for each stage, so that the text of a stage is compiled once. */
const basesOf = memoizeBy(
  ({ value, at }: Located<Bases>): Readonly<Record<string, Located<string>>> =>
    Object.fromEntries(Object.entries(value).map(([stage, text]) => [stage, { value: text, at }])),
);

const renderOf = memoizeBy(({ file }: Matrix) =>
  memoizeText((name) => memoizeBy((text: Located<string>) => compileText(`the ${name}`, text, file))),
);
