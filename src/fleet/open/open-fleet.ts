/** A fleet with its files: matrix.yaml → matrix → cells → Dockerfiles. */

import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { ImgmatchError, InternalError, type Problem, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { openPlainFile } from "../../io/plain-file.ts";
import { isTemporaryName } from "../../io/write-file.ts";
import { lockPath } from "../../lock/lock.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { ContextFolder, FleetSources } from "../build/jobs.ts";
import type { Cell } from "../cells/cell.ts";
import type { CellSettings } from "../cells/cell-settings.ts";
import { expandMatrix } from "../cells/expand.ts";
import { oncePer, oncePerText } from "../cells/once-per.ts";
import { type ParentCell, standOnParents } from "../cells/stand-on-parents.ts";
import { compileArguments } from "../dockerfile/arguments.ts";
import type { Base } from "../dockerfile/bases.ts";
import { type ContextListing, listContext } from "../dockerfile/context.ts";
import { type ContextUse, targetUses } from "../dockerfile/context-use.ts";
import { effectiveText } from "../dockerfile/effective-text.ts";
import { generatedStart, isGenerated } from "../dockerfile/generated-line.ts";
import type { Instruction } from "../dockerfile/instructions.ts";
import { type RenderedCell, type RenderedFile, renderCell } from "../dockerfile/render-cell.ts";
import { contextOf, settleCells } from "../dockerfile/settle-cells.ts";
import { runBases } from "../dockerfile/stages.ts";
import { missingSources, telling, writtenSecrets } from "../dockerfile/written-secrets.ts";
import { withVersion } from "./find-version.ts";
import { type GivenArguments, withArguments } from "../matrix/given-arguments.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { parseMatrix } from "../matrix/parse-matrix.ts";
import { referenceProblems } from "../matrix/unsafe-text.ts";
import { fleetCircle } from "./workspace.ts";
import { readMatrixText } from "./read-matrix.ts";
import { readTemplates } from "./read-template.ts";

/** A matrix with all that belongs to it, read and checked. */
export interface Fleet extends FleetSources {
  readonly matrix: Matrix;
  /** The cells of other fleets that its cells are built on, by the reference that Dockerfiles have for each. */
  readonly parents: ReadonlyMap<string, ParentCell<Fleet>>;
  /** Renders and checks a cell's Dockerfile once and remembers it. */
  dockerfileOf(cell: Cell): CellDockerfile;
}

/** A rendered Dockerfile with what it says. */
export interface CellDockerfile extends RenderedFile {
  /** Base images, as it names them: one list for all cells of one form. */
  readonly bases: readonly Base[];
  /** The file that has the lines of `bases`: the Dockerfile that is used as it stands, or the rendered one. */
  readonly basesIn: string;
  /** All of it that can make a difference to the image; labels, for one, cannot. */
  readonly effect: string;
  /** Its use of the context, if its bases do nothing that it does not say. */
  readonly use: ContextUse;
}

export interface OpenOptions {
  /** `host/path` to publish to in place of the matrix's registry. */
  readonly registry?: string;
  /** Text in place of the template's: what the file would be after a change. */
  readonly templateText?: string;
  /** The environment of a version `{ env: NAME }`. Default: of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Build arguments that go before the matrix's, as `build --build-arg` has them. Never secrets: images keep them in their history. */
  readonly args?: GivenArguments;
}

/**
 * Opens a fleet: reads matrix, template and build context.
 *
 * Throws `ImgmatchError`: every mistake of the matrix at once; `TEMPLATE_…`; `CONTEXT_NOT_FOUND`.
 */
export async function openFleet(matrixFile: string, options: OpenOptions = {}): Promise<Fleet> {
  return open(await readMatrixText(matrixFile), matrixFile, options, { above: [], opened: new Map() });
}

/** The same for a matrix whose text is already there; `matrixFile` need not exist: its folder is where paths start. */
export async function openFleetText(
  text: string,
  matrixFile: string,
  options: OpenOptions = {},
): Promise<Fleet> {
  return open(text, matrixFile, options, { above: [], opened: new Map() });
}

/** The fleets that led here, and those that are open already: each is read once. */
interface Opening {
  readonly above: readonly string[];
  readonly opened: Map<string, Fleet>;
}

async function open(
  text: string,
  matrixFile: string,
  options: OpenOptions,
  opening: Opening,
): Promise<Fleet> {
  const root = dirname(matrixFile);
  const parsed = await withVersion(parseMatrix(text, matrixFile), { root, env: options.env ?? process.env });
  const registry = options.registry?.replace(/(?<!\/)\/+$/, "");
  const published = registry === undefined ? parsed : { ...parsed, repository: `${registry}/${parsed.name}` };
  const { args: given = {} } = options;
  const { matrix, passed } = withArguments(published, given);
  parseImageReference(matrix.repository);
  const fleets = await openParents(matrix, matrixFile, options, opening);
  const settled = settleCells(matrix, expandMatrix(matrix), parsed.repository);
  const { cells, parents } = standOnParents(matrix, settled, fleets);
  const built = cells.flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  const { templates, files } = await readTemplates(root, matrix, built, {
    text: options.templateText,
    given,
  });
  const argumentsOf = compileArguments(matrix);
  const folderOf = await listFolders(root, built, (dir) => ownFiles(matrixFile, files, dir));
  const secretsIn = onceFaultless(telling, writtenSecrets);
  const checksOf = oncePer(({ entries }: ContextListing) => {
    const paths = new Set(entries.map(({ path }) => path));
    return [onceFaultless(["COPY", "ADD"], (each, file) => missingSources(each, file, paths)), secretsIn];
  });
  const runBaseOf = oncePer(({ target }: CellSettings) => runBases(target?.value ?? null));
  const useOf = oncePer(({ target }: CellSettings) => targetUses(target?.value ?? null));
  const isReference = oncePerText((ref) => referenceProblems(ref, { file: matrixFile }).length === 0);
  const dockerfileOf = oncePer((cell: Cell) => {
    const { template, takes } = templates(cell);
    const args = argumentsOf(cell, takes);
    return checkFile(renderCell(cell, matrix, template, args, runBaseOf(cell.settings)), cell, {
      checks: checksOf(folderOf(cell).listing),
      isReference,
      useOf: useOf(cell.settings),
    });
  });
  return { root, matrix, cells, parents, folderOf, passedArgs: passed, dockerfileOf };
}

/** Each folder once for all cells that are built from it and whose Dockerfile hides the same of it. */
async function listFolders(
  root: string,
  cells: readonly Cell[],
  ownIn: (dir: string) => (path: string) => boolean | Promise<boolean>,
): Promise<(cell: Cell) => ContextFolder> {
  const keyOf = oncePer((settings: CellSettings) => {
    const { value } = contextOf(settings);
    const own = dockerignoreOf(root, settings);
    return existsSync(own) ? `${value}\n${own}` : value;
  });
  const folders = new Map<string, ContextFolder>();
  for (const settings of new Set(cells.map((cell) => cell.settings))) {
    const key = keyOf(settings);
    if (folders.has(key)) continue;
    const { value, at } = contextOf(settings);
    const dir = join(root, value);
    const ignoreFiles = [dockerignoreOf(root, settings), join(dir, ".dockerignore")];
    folders.set(key, { dir, listing: await listContext(dir, at, ownIn(dir), ignoreFiles) });
  }
  const folderOf = oncePer((settings: CellSettings) => folders.get(keyOf(settings)));
  return ({ id, settings }) => {
    const found = folderOf(settings);
    if (found === undefined) throw new InternalError(`${id} has no build context`);
    return found;
  };
}

/**
 * The fleets of the matrix's `parents`, with the options of this one: what a workspace is built with, all its fleets are. One that does not
 * take all the arguments has those that its matrix names.
 */
async function openParents(
  { parents }: Matrix,
  matrixFile: string,
  { registry, env, args = {} }: OpenOptions,
  { above, opened }: Opening,
): Promise<ReadonlyMap<string, Fleet>> {
  const fleets = new Map<string, Fleet>();
  const line = [...above, matrixFile];
  for (const [name, { file }] of Object.entries(parents)) {
    const path = join(dirname(matrixFile), file.value);
    if (line.some((each) => samePlace(each, path))) throwProblems([fleetCircle([...line, path], file.at)]);
    const known = opened.get(path);
    if (known !== undefined) {
      fleets.set(name, known);
      continue;
    }
    const text = await readMatrixText(path).catch((error: unknown) => {
      throw error instanceof ImgmatchError ? unreadFleet(error, file) : error;
    });
    const openWith = (given: GivenArguments) =>
      open(
        text,
        path,
        { ...(registry !== undefined && { registry }), ...(env && { env }), args: given },
        { above: line, opened },
      );
    const fleet = await openWith(args).catch((error: unknown) => {
      if (!(error instanceof ImgmatchError) || error.code !== "ARGUMENT_UNDECLARED") throw error;
      const own = parseMatrix(text, path).args;
      return openWith(Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(own, name))));
    });
    opened.set(path, fleet);
    fleets.set(name, fleet);
  }
  return fleets;
}

function samePlace(one: string, other: string): boolean {
  const real = (path: string) => attempt(() => realpathSync(path), resolve(path));
  return real(one) === real(other);
}

function unreadFleet(
  { problems: [{ message }] }: ImgmatchError,
  { value, at }: Located<string>,
): ImgmatchError {
  const fix = "correct fleet: it is the path of another matrix, from this one";
  return new ImgmatchError({
    code: "MATRIX_NOT_FOUND",
    message: `the fleet ${value} cannot be read: ${message}`,
    fix,
    at,
  });
}

interface FileChecks {
  readonly checks: readonly InstructionCheck[];
  readonly isReference: (ref: string) => boolean;
  readonly useOf: ReturnType<typeof targetUses>;
}

/** Finds the mistakes of one instruction of a file. */
type InstructionCheck = (instruction: Instruction, file: string) => readonly Problem[];

/** Throws all that is wrong with what the template says in one Dockerfile: bases that cannot be decided or named, and what the checks find. */
function checkFile(
  { file, own, ownFile: path }: RenderedCell,
  cell: Cell,
  { checks, isReference, useOf }: FileChecks,
): CellDockerfile {
  const options = { args: file.args, platform: cell.platform };
  const { stages, use, bases } = useOf(own, path, options);
  const problems = bases.flatMap(({ ref, line }) =>
    isReference(ref) ? [] : referenceProblems(ref, { file: path, line }),
  );
  for (const check of checks) for (const each of own.instructions) problems.push(...check(each, path));
  throwProblems(problems);
  const effect = effectiveText(own, cell.settings.target?.value ?? null, options, stages);
  return Object.assign(file, { bases: uniqueByRef(bases), basesIn: path, effect, use });
}

/** Thousands of cells have the same instructions of a kind: one without a fault is looked into once. */
function onceFaultless(keywords: readonly string[], check: InstructionCheck): InstructionCheck {
  const behindOnbuild = new RegExp(`^\\s*ONBUILD\\s+(?:${keywords.join("|")})\\s`, "i");
  const faultless = new Set<string>();
  return (instruction, file) => {
    const { keyword, text } = instruction;
    const meant = keyword === "ONBUILD" ? behindOnbuild.test(text) : keywords.includes(keyword);
    if (!meant || faultless.has(text)) return [];
    const problems = check(instruction, file);
    if (problems.length === 0) faultless.add(text);
    return problems;
  };
}

/** As BuildKit has it: `<Dockerfile>.dockerignore` beside the Dockerfile goes before the context's own. */
function dockerignoreOf(root: string, { template }: Cell["settings"]): string {
  return join(root, `${template.value.replace(/\.(hbs|handlebars)$/i, "")}.dockerignore`);
}

/** A base that several instructions name is pulled once. */
const uniqueByRef = oncePer((bases: readonly Base[]): readonly Base[] => [
  ...new Map(bases.map((base) => [base.ref, base])).values(),
]);

/**
 * Matrix and templates (paths from the matrix) of this fleet, and of every fleet what `build` and `render` write: `.imgmatch/`, lock, Dockerfiles; and git's.
 * A Dockerfile that is used as it stands is a file of the project like others.
 */
function ownFiles(
  matrixFile: string,
  templates: readonly string[],
  contextDir: string,
): (path: string) => boolean | Promise<boolean> {
  const root = dirname(matrixFile);
  const inContext = (path: string) => relative(contextDir, path).replaceAll("\\", "/");
  const files = new Set([matrixFile, ...templates.map((path) => join(root, path))].map(inContext));
  const images = `${inContext(join(root, "images"))}/`;
  return (path) => {
    const name = basename(path);
    if (files.has(path) || name === ".imgmatch" || path === ".git" || isTemporaryName(name)) return true;
    const isLock = name.startsWith(basename(lockPath));
    const isDockerfile = name.endsWith(".Dockerfile");
    if (path.startsWith(images) && (isLock || isDockerfile)) return true;
    // Of another fleet.
    if (basename(dirname(path)) !== "images") return false;
    return isLock || (isDockerfile && startsAsGenerated(join(contextDir, path)));
  };
}

/** Whether imgmatch wrote the file. For an unreadable one no: reading the context says why. */
async function startsAsGenerated(path: string): Promise<boolean> {
  const file = await openPlainFile(path).catch(() => null);
  if (file === null) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(generatedStart));
    return isGenerated(buffer.toString("utf8", 0, bytesRead));
  } catch {
    return false;
  } finally {
    await file.close();
  }
}
