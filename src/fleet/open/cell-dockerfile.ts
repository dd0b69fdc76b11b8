/** Renders and checks the Dockerfile of each cell. */

import { type Problem, throwProblems } from "../../errors.ts";
import type { ContextFolder } from "../engines/jobs.ts";
import type { Cell } from "../cells/cell.ts";
import type { CellSettings } from "../cells/cell-settings.ts";
import { memoizeBy, memoizeText } from "../cells/memoize-by.ts";
import { compileArguments } from "../dockerfile/arguments.ts";
import { undeclaredToolkit } from "../dockerfile/base-toolkit.ts";
import type { Base } from "../dockerfile/bases.ts";
import { missingSources } from "../context/context-inputs.ts";
import { type ContextUse, targetUses } from "../context/context-use.ts";
import { effectiveText } from "../dockerfile/effective-text.ts";
import { type OwnStart, ownStart } from "../dockerfile/guard.ts";
import type { Instruction } from "../dockerfile/instructions.ts";
import { type RenderedFile, renderCell } from "../dockerfile/render-cell.ts";
import { runBases } from "../dockerfile/stages.ts";
import { telling, writtenSecrets } from "../dockerfile/written-secrets.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { referenceProblems } from "../matrix/matrix-problems.ts";
import type { ReadTemplates } from "./read-template.ts";

/** A rendered Dockerfile, and the facts that are read in it. */
export interface CellDockerfile extends RenderedFile {
  /** Base images by the names in the file. Cells with the same bases share one list. */
  readonly bases: readonly Base[];
  /** The file that has the lines of `bases`: the Dockerfile of the project, or the rendered Dockerfile. */
  readonly basesIn: string;
  /** Its text without labels, and all else that makes no difference to the image. */
  readonly effective: string;
  /** Its use of the context. A base's `ONBUILD` and `ENV` may use more. */
  readonly use: ContextUse;
  /** Of a cell with a guard: the image that it starts from, and what the Dockerfile says of its start. */
  readonly start: { readonly base: string; readonly own: OwnStart } | null;
}

export interface CellWithDockerfile {
  readonly cell: Cell;
  readonly dockerfile: CellDockerfile;
}

/** Each cell is rendered once. For a cell the function throws all that is wrong with its Dockerfile. */
export function compileDockerfiles(
  matrix: Matrix,
  templates: ReadTemplates["templates"],
  folderOf: (cell: Cell) => ContextFolder,
): (cell: Cell) => CellDockerfile {
  const argumentsOf = compileArguments(matrix);
  const checksOf = checksByContext(matrix);
  const runBaseFinderOf = memoizeBy(({ target }: CellSettings) => runBases(target?.value ?? null));
  const useOf = memoizeBy(({ target }: CellSettings) => targetUses(target?.value ?? null));
  const isReference = memoizeText((ref) => referenceProblems(ref, { file: matrix.file }).length === 0);
  return memoizeBy((cell): CellDockerfile => {
    const { settings, platform } = cell;
    const { template, takes } = templates(cell);
    const args = argumentsOf(cell, takes);
    const rendered = renderCell(cell, matrix, template, args, runBaseFinderOf(settings));
    const { file, own, ownFile: path, runBase } = rendered;
    const options = { args: file.args, platform, contexts: settings.contexts?.value };
    const { stages, use, bases } = useOf(settings)(own, path, options);
    const problems = bases.flatMap(({ ref, line }) =>
      isReference(ref) ? [] : referenceProblems(ref, { file: path, line }),
    );
    const line = bases.find(({ ref }) => ref === runBase)?.line;
    problems.push(...undeclaredToolkit(cell, runBase, { file: path, ...(line !== undefined && { line }) }));
    for (const check of checksOf(folderOf(cell)))
      for (const each of own.instructions) problems.push(...check(each, path));
    throwProblems(problems);
    const effective = effectiveText(own, stages, file.args);
    const target = settings.target?.value ?? null;
    const start = settings.guard?.value ? { base: runBase, own: ownStart(own, target, options) } : null;
    return Object.assign(file, { bases: uniqueByRef(bases), basesIn: path, effective, use, start });
  });
}

/** Finds the mistakes of one instruction of a file. */
type InstructionCheck = (instruction: Instruction, file: string) => readonly Problem[];

/** Several instructions may name one base. */
const uniqueByRef = memoizeBy((bases: readonly Base[]): readonly Base[] => [
  ...new Map(bases.map((base) => [base.ref, base])).values(),
]);

function checksByContext({ notSecret }: Matrix): (folder: ContextFolder) => readonly InstructionCheck[] {
  const checkSecrets = onceFaultless(telling, (each, file) => writtenSecrets(each, file, notSecret));
  return memoizeBy(({ dir, listing }) => {
    const paths = new Set(listing.entries.map(({ path }) => path));
    const checkSources: InstructionCheck = (each, file) => missingSources(each, file, { dir, paths });
    return [onceFaultless(["COPY", "ADD"], checkSources), checkSecrets];
  });
}

/** Checks instructions with these keywords. Thousands of cells share one text: a text without a fault is checked once. */
function onceFaultless(keywords: readonly string[], check: InstructionCheck): InstructionCheck {
  const behindOnbuild = new RegExp(`^\\s*ONBUILD\\s+(?:${keywords.join("|")})\\s`, "i");
  const faultless = new Set<string>();
  return (instruction, file) => {
    const { keyword, text } = instruction;
    const isChecked = keyword === "ONBUILD" ? behindOnbuild.test(text) : keywords.includes(keyword);
    if (!isChecked || faultless.has(text)) return [];
    const problems = check(instruction, file);
    if (problems.length === 0) faultless.add(text);
    return problems;
  };
}
