/** Opens a fleet: matrix.yaml → matrix → cells → Dockerfiles. */

import { realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { FleetSources } from "../engines/jobs.ts";
import type { Cell } from "../cells/cell.ts";
import { buildableCells, expandMatrix } from "../cells/expand.ts";
import { selectCells, type Selection } from "../cells/select.ts";
import { type ParentCell, resolveParentBases } from "../cells/parent-bases.ts";
import { axisNeighbours, ignoredAxes } from "../dockerfile/ignored-axes.ts";
import { renderCellSettings } from "../template/render-settings.ts";
import { type GivenArguments, withArguments } from "../matrix/given-arguments.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { isNativeMarch } from "../matrix/values.ts";
import { parseMatrix, repositoryBelow } from "../matrix/parse-matrix.ts";
import { type CellDockerfile, compileDockerfiles } from "./cell-dockerfile.ts";
import { listContextFolders } from "./context-folders.ts";
import { withVersion } from "./find-version.ts";
import { readTemplates } from "./read-template.ts";
import { fleetCircle } from "./workspace.ts";
import { once } from "../../io/collections.ts";
import type { WriteGuard } from "../dockerfile/guard.ts";
import type { HostServices } from "../host-services.ts";

/** A checked matrix with its cells and their files. */
export interface Fleet extends FleetSources {
  readonly matrix: Matrix;
  /** The parent cells, of other fleets, by the references in Dockerfiles. */
  readonly parents: ReadonlyMap<string, ParentCell<Fleet>>;
  /** Renders and checks a cell's Dockerfile once and remembers it. */
  dockerfileOf(cell: Cell): CellDockerfile;
  /** Whether the cell's Dockerfile, arguments, bases or target change with the version: they are rendered again with the version blank. */
  namesVersion(cell: Cell): boolean;
  /** Only where whoever opened it handed one. */
  readonly writeGuard?: WriteGuard | undefined;
}

export interface FleetToOpen {
  /** Text of the matrix, whose file need not exist then. Default: the file's. */
  readonly text?: string;
  /** `host/path` to publish to in place of the matrix's registry. */
  readonly registry?: string | undefined;
  /** Text in place of the template's, to see the effect of a change. */
  readonly templateText?: string;
  /** The environment of a version or an argument `{ env: NAME }`. Default: of this process. */
  readonly env?: Environment | undefined;
  /** Build arguments that go before the matrix's, as `build --build-arg` has them. Never secrets: images keep them in their history. */
  readonly args?: GivenArguments;
  readonly writeGuard?: WriteGuard | undefined;
  readonly marchHere?: HostServices["marchHere"] | undefined;
}

/** Throws `MATRIX_NOT_FOUND`, which names the matrix of a folder above where there is one. `option` names the file, for messages. */
export function readMatrixText(file: string, option = "--matrix"): Promise<string> {
  return readTextFile(file, inputLimits.matrix, {
    missingCode: "MATRIX_NOT_FOUND",
    fix: `run imgmatch init to write one, or name another with ${option}`,
    flag: option,
  });
}

/** Names the march of this machine where a matrix asks for `native`. */
async function parseHere(
  text: string,
  file: string,
  { env, marchHere }: Pick<FleetToOpen, "marchHere"> & { readonly env: Environment },
): Promise<Matrix> {
  try {
    return parseMatrix(text, file, env);
  } catch (error) {
    if (!(error instanceof ImgmatchError) || !error.problems.some(isNativeMarch)) throw error;
    const march = (await marchHere?.()) ?? null;
    if (march === null) throw error;
    const [first, ...rest] = error.problems;
    const named = (each: Problem) =>
      isNativeMarch(each) ? { ...each, fix: `${each.fix}; here it is ${march}` } : each;
    throw new ImgmatchError([named(first), ...rest.map(named)]);
  }
}

/**
 * Opens a fleet: reads matrix, template and build context. Paths start in the matrix's folder.
 *
 * Throws `ImgmatchError`: every mistake of the matrix at once; `TEMPLATE_…`; `CONTEXT_NOT_FOUND`.
 */
export async function openFleet(
  matrixFile: string,
  toOpen: FleetToOpen = {},
  opening: Opening = { children: [], opened: new Map() },
): Promise<Fleet> {
  const root = dirname(matrixFile);
  const { registry, env = process.env, args: given = {}, writeGuard, marchHere } = toOpen;
  const text = toOpen.text ?? (await readMatrixText(matrixFile));
  const parsed = await withVersion(await parseHere(text, matrixFile, { env, marchHere }), { root, env });
  const moved = registry === undefined ? {} : { repository: repositoryBelow(registry, parsed.name) };
  const { matrix, passed } = withArguments({ ...parsed, ...moved }, given);
  parseImageReference(matrix.repository);
  const fleets = await openParents(matrix, matrixFile, toOpen, opening);
  const expanded = expandMatrix(matrix);
  const settle = (as: Matrix) =>
    resolveParentBases(as, renderCellSettings(as, expanded, parsed.repository), fleets);
  const { cells, parents } = settle(matrix);
  const buildable = buildableCells(cells);
  const { templates, files } = await readTemplates(root, matrix, buildable, {
    text: toOpen.templateText,
    given,
  });
  const folderOf = await listContextFolders(matrixFile, buildable, files);
  const dockerfileOf = compileDockerfiles(matrix, templates, folderOf);
  const withoutVersion = once(() => {
    const blank = { ...matrix, version: "" };
    const renderBlank = compileDockerfiles(blank, templates, folderOf);
    const blanks = new Map(settle(blank).cells.map(({ cell }) => [cell.id, cell]));
    return (cell: Cell) => inputsIn(blanks.get(cell.id) ?? cell, renderBlank);
  });
  // What cannot be rendered without the version names the version.
  const namesVersion = (cell: Cell) =>
    attempt(() => withoutVersion()(cell) !== inputsIn(cell, dockerfileOf), true);
  const settled = { root, matrix, cells, parents, folderOf, passedArgs: passed };
  return { ...settled, dockerfileOf, namesVersion, writeGuard };
}

function inputsIn(cell: Cell, dockerfileOf: Fleet["dockerfileOf"]): string {
  const { bare, args, bases } = dockerfileOf(cell);
  return JSON.stringify([bare, args, bases, cell.settings.target?.value]);
}

interface Opening {
  /** The matrices that led here, each built on the next. */
  readonly children: readonly string[];
  /** By the path of the matrix. */
  readonly opened: Map<string, Fleet>;
}

/**
 * Opens the fleets of the matrix's `parents`, by their names there and with what this fleet is opened with. A fleet that does not take all
 * arguments gets the arguments that its matrix names.
 */
async function openParents(
  { parents }: Matrix,
  matrixFile: string,
  { registry, env, args = {}, writeGuard, marchHere }: FleetToOpen,
  { children, opened }: Opening,
): Promise<ReadonlyMap<string, Fleet>> {
  const fleets = new Map<string, Fleet>();
  const line = [...children, matrixFile];
  for (const [name, { file }] of Object.entries(parents)) {
    const path = join(dirname(matrixFile), file.value);
    if (line.some((each) => samePlace(each, path))) throwProblems([fleetCircle([...line, path], file.at)]);
    const fleet = opened.get(path) ?? (await openParent(path, file));
    opened.set(path, fleet);
    fleets.set(name, fleet);
  }
  return fleets;

  async function openParent(path: string, file: Located<string>): Promise<Fleet> {
    const text = await readMatrixText(path).catch((error: unknown) => {
      if (!(error instanceof ImgmatchError)) throw error;
      throw new ImgmatchError({
        code: "MATRIX_NOT_FOUND",
        message: `the fleet ${file.value} cannot be read: ${error.problems[0].message}`,
        fix: "correct fleet: a parent is the path of another matrix, from this matrix",
        at: file.at,
      });
    });
    const openWith = (given: GivenArguments) =>
      openFleet(
        path,
        { text, registry, env, args: given, writeGuard, marchHere },
        { children: line, opened },
      );
    return openWith(args).catch((error: unknown) => {
      if (!(error instanceof ImgmatchError) || error.code !== "ARGUMENT_UNDECLARED") throw error;
      const known = parseMatrix(text, path).args;
      return openWith(
        Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(known, name))),
      );
    });
  }
}

function samePlace(one: string, other: string): boolean {
  const real = (path: string) => attempt(() => realpathSync(path), resolve(path));
  return real(one) === real(other);
}

/**
 * The selected cells that can be built. Throws `TEMPLATE_IGNORES_AXIS` for a cell whose Dockerfile equals the Dockerfile of a neighbour, a cell with
 * another value on one axis. The neighbour need not be selected.
 */
export function checkedCells(fleet: Fleet, only: readonly Selection[]): readonly Cell[] {
  const all = buildableCells(fleet.cells);
  const chosen = buildableCells(selectCells(fleet.cells, only));
  const cells = chosen.length === all.length ? all : axisNeighbours(chosen, all);
  // One Dockerfile makes different images of two folders.
  const effectOf = (cell: Cell) => {
    const { dir, named } = fleet.folderOf(cell);
    const folders = JSON.stringify(named.map((each) => [each.name, each.dir]));
    return `${fleet.dockerfileOf(cell).effective} ${dir} ${folders}`;
  };
  throwProblems(ignoredAxes(cells, effectOf, fleet.matrix));
  return chosen;
}
