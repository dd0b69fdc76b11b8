/** Reads the templates of a fleet with their partials, and the project's own Dockerfiles. */

import { readdirSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { ImgmatchError, InternalError, type Place, type Problem, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { inputLimits } from "../../io/limits.ts";
import { didYouMean, suggest } from "../../io/suggest.ts";
import { liesIn } from "../../io/project-folder.ts";
import { isThere, readExactText, readTextFile } from "../../io/files.ts";
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
import { type PartialFile, partialFile, readPartials } from "../template/partials.ts";
import { parseTemplate } from "../template/template-syntax.ts";
import { compileTemplate, isTemplateName, plainDockerfile } from "../template/template.ts";
import type { Template } from "../template/view.ts";

export interface CellTemplate {
  readonly template: Template;
  readonly takes: (name: string) => boolean;
}

export interface ReadTemplates {
  readonly templates: (cell: Cell) => CellTemplate;
  /** Templates and partials as paths from the matrix, without Dockerfiles that are used as they stand. */
  readonly files: readonly string[];
}

/**
 * Reads every template that the cells name, once. `text` is the text of every template, in place of its file's. Throws `TEMPLATE_…`, and
 * `ARGUMENT_UNDECLARED` for an argument that no Dockerfile declares with `ARG`, and for a given argument that is in no template.
 */
export async function readTemplates(
  root: string,
  matrix: Pick<Matrix, "template" | "args">,
  cells: readonly Cell[],
  { text, given }: { readonly text: string | undefined; readonly given: GivenArguments },
): Promise<ReadTemplates> {
  const byPath = new Map<string, ReadTemplate>();
  const args: Record<string, Located<string>> = { ...matrix.args };
  for (const settings of new Set(cells.map((cell) => cell.settings))) {
    Object.assign(args, settings.args);
    const { template } = settings;
    if (!byPath.has(template.value)) byPath.set(template.value, await readTemplate(root, template, text));
  }
  const read = [...byPath.values()];
  const names = [...byPath.keys()].join(" or ");
  throwProblems(lostArguments(read, names, args, Object.keys(given)));
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
  /** The names of its `ARG`s; null for a template, which may write any. */
  readonly declared: ReadonlySet<string> | null;
  /** The texts of the template and of its partials. */
  readonly texts: readonly string[];
  readonly files: readonly string[];
}

/** Templates beside Dockerfiles are not checked: an argument may be for either. */
function lostArguments(
  read: readonly ReadTemplate[],
  names: string,
  args: Readonly<Record<string, Located<string>>>,
  given: readonly string[],
): readonly Problem[] {
  const declared = read.flatMap((each) => (each.declared === null ? [] : [each.declared]));
  if (declared.length === read.length)
    return undeclaredArguments(args, names, new Set(declared.flatMap((each) => [...each])));
  if (declared.length > 0) return [];
  return unreachedArguments(
    given,
    names,
    read.flatMap(({ texts }) => texts),
  );
}

async function readTemplate(
  root: string,
  reference: Located<string>,
  otherText: string | undefined,
): Promise<ReadTemplate> {
  const { value: path } = reference;
  const file = join(root, path);
  if (!isTemplateName(path)) {
    const text = otherText ?? (await readReferenced(root, reference, readExactText));
    const declared = declaredArguments(parseDockerfile(text));
    const takes = (name: string) => declared.has(name) || isPredefined(name);
    return { template: plainDockerfile(text), declared, takes, texts: [text], files: [] };
  }
  const text = otherText ?? (await readReferenced(root, reference, readTextFile));
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

/** A symbolic link may lead to files of the matrix's folder only. */
async function readPartial(root: string, template: string, name: string, at: Place): Promise<PartialFile> {
  const folder = dirname(template);
  const path = join(folder, name);
  const file = join(root, path);
  if (!isThere(file)) {
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
  { value: path, at }: Located<string>,
  read: typeof readExactText,
): Promise<string> {
  try {
    return await read(join(root, path), inputLimits.template, { missingCode: "TEMPLATE_NOT_FOUND" });
  } catch (error) {
    if (!(error instanceof ImgmatchError) || error.code !== "TEMPLATE_NOT_FOUND") throw error;
    const message = `the template ${path} cannot be read`;
    const fix = `${didYouMean(nearestFile(root, path))}create it, or correct template: in the matrix`;
    throw new ImgmatchError({ code: "TEMPLATE_NOT_FOUND", message, fix, at });
  }
}

function nearestFile(root: string, path: string): string | null {
  const files = attempt(() => readdirSync(join(root, dirname(path))), []);
  const near = suggest(basename(path), files);
  return near === null ? null : posix.join(dirname(path), near);
}
