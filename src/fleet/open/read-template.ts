/** The template of a fleet with its partials, or the Dockerfile that is used as it stands. */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { ImgmatchError, InternalError, type Place, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { inputLimits } from "../../io/limits.ts";
import { didYouMean, suggest } from "../../io/suggest.ts";
import { liesIn } from "../../io/project-folder.ts";
import { type ReadOptions, readExactText, readTextFile } from "../../io/files.ts";
import type { GivenArguments } from "../matrix/given-arguments.ts";
import type { Cell } from "../cells/cell.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import {
  declaredArguments,
  isPredefined,
  undeclaredArguments,
  unreachedArguments,
} from "../dockerfile/arguments.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import { type PartialFile, partialFile, readPartials } from "../dockerfile/partials.ts";
import { parseTemplate } from "../dockerfile/template-syntax.ts";
import { compileTemplate, isTemplateName, plainDockerfile } from "../dockerfile/template.ts";
import type { Template } from "../dockerfile/view.ts";

export interface CellTemplate {
  readonly template: Template;
  readonly takes: (name: string) => boolean;
}

export interface ReadTemplates {
  readonly templates: (cell: Cell) => CellTemplate;
  /** The parts of it that are imgmatch's, as paths from the matrix: templates and partials, not a Dockerfile. */
  readonly files: readonly string[];
}

export interface ReadTemplateOptions {
  /** In place of the template's text. */
  readonly text: string | undefined;
  readonly given: GivenArguments;
}

/**
 * Reads every template that the cells name, once. Throws `TEMPLATE_…`, and `ARGUMENT_UNDECLARED` for what no Dockerfile has an `ARG` of,
 * and for what is given to templates that never name it.
 */
export async function readTemplates(
  root: string,
  matrix: Pick<Matrix, "template" | "args">,
  cells: readonly Cell[],
  options: ReadTemplateOptions,
): Promise<ReadTemplates> {
  const byPath = new Map<string, ReadTemplate>();
  const args: Record<string, Located<string>> = { ...matrix.args };
  for (const settings of new Set(cells.map((cell) => cell.settings))) {
    Object.assign(args, settings.args);
    const { template } = settings;
    if (!byPath.has(template.value))
      byPath.set(template.value, await readTemplate(root, template, options.text));
  }
  const read = [...byPath.values()];
  const names = [...byPath.keys()].join(" or ");
  if (read.every(({ declared }) => declared !== null))
    throwProblems(
      undeclaredArguments(args, names, new Set(read.flatMap(({ declared }) => [...(declared ?? [])]))),
    );
  else if (read.every(({ declared }) => declared === null))
    throwProblems(
      unreachedArguments(
        Object.keys(options.given),
        names,
        read.flatMap(({ texts }) => texts),
      ),
    );
  return {
    templates: ({ id, settings }) => {
      const found = byPath.get(settings.template.value);
      if (found === undefined) throw new InternalError(`${id} has no template`);
      return found;
    },
    files: [...new Set(read.flatMap(({ files }) => files))],
  };
}

interface ReadTemplate extends CellTemplate {
  /** The names of its `ARG`s; null for a template, which may make some. */
  readonly declared: ReadonlySet<string> | null;
  /** With those of its partials. */
  readonly texts: readonly string[];
  readonly files: readonly string[];
}

async function readTemplate(
  root: string,
  { value: path, at }: Located<string>,
  other: string | undefined,
): Promise<ReadTemplate> {
  const file = join(root, path);
  const read = (reader: typeof readExactText) =>
    other === undefined
      ? readReferenced(root, path, at, (options) => reader(file, inputLimits.template, options))
      : Promise.resolve(other);
  if (!isTemplateName(path)) {
    const text = await read(readExactText);
    const declared = declaredArguments(parseDockerfile(text));
    const takes = (name: string) => declared.has(name) || isPredefined(name);
    return { template: plainDockerfile(text), declared, takes, texts: [text], files: [] };
  }
  const text = await read(readTextFile);
  const partials = await readPartials(parseTemplate(text, file), (name, place) =>
    readPartial(root, path, partialFile(name), place),
  );
  const folder = dirname(path);
  return {
    template: compileTemplate(text, file, partials),
    declared: null,
    takes: () => true,
    texts: [text, ...[...partials.values()].map(({ text: partial }) => partial)],
    files: [path, ...[...partials.keys()].map((name) => join(folder, partialFile(name)))],
  };
}

/** A link may lead to what is in the matrix's folder, and nowhere else. */
async function readPartial(root: string, template: string, name: string, at: Place): Promise<PartialFile> {
  const folder = dirname(template);
  const path = join(folder, name);
  const file = join(root, path);
  if (!existsSync(file)) {
    const near = nearestFile(join(root, folder), name);
    const fix = `${didYouMean(near?.replace(/\.hbs$/, "") ?? null)}create it beside ${join(root, template)}`;
    throw new ImgmatchError({
      code: "TEMPLATE_NOT_FOUND",
      message: `the partial ${name} is not there`,
      fix,
      at,
    });
  }
  if (!liesIn(root === "" ? "." : root, file)) {
    const message = `the partial ${path} leads out of the matrix's folder`;
    throw new ImgmatchError({ code: "TEMPLATE_NOT_FOUND", message, fix: "copy the file to it", at });
  }
  return { file, text: await readTextFile(file, inputLimits.template) };
}

async function readReferenced(
  root: string,
  path: string,
  at: Place,
  read: (options: ReadOptions) => Promise<string>,
): Promise<string> {
  try {
    return await read({ missingCode: "TEMPLATE_NOT_FOUND" });
  } catch (error) {
    if (error instanceof ImgmatchError && error.code !== "TEMPLATE_NOT_FOUND") throw error;
    const fix = `${didYouMean(nearestFile(root, path))}create it, or correct template: in the matrix`;
    throwProblems([{ code: "TEMPLATE_NOT_FOUND", message: `the template ${path} cannot be read`, fix, at }]);
    throw error;
  }
}

/** The file of its folder that the name may mean, as who wrote the name would name it. */
function nearestFile(root: string, path: string): string | null {
  const files = attempt(() => readdirSync(join(root, dirname(path))), []);
  const near = suggest(basename(path), files);
  return near === null ? null : posix.join(dirname(path), near);
}
