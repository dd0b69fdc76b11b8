/** The template of a fleet with its partials, or the Dockerfile that is used as it stands. */

import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { ImgmatchError, type Place, throwProblems } from "../errors.ts";
import { attempt } from "../io/attempt.ts";
import { inputLimits } from "../io/limits.ts";
import { didYouMean, suggest } from "../io/suggest.ts";
import { liesIn } from "../io/project-folder.ts";
import { type ReadOptions, readExactText, readTextFile } from "../io/files.ts";
import type { GivenArguments } from "./matrix/given-arguments.ts";
import type { Matrix } from "./matrix/matrix.ts";
import { undeclaredArguments, unreachedArguments } from "./dockerfile/arguments.ts";
import { parseDockerfile } from "./dockerfile/instructions.ts";
import { type PartialFile, partialFile, readPartials } from "./dockerfile/partials.ts";
import { parseTemplate } from "./dockerfile/template-syntax.ts";
import { compileTemplate, isTemplateName, plainDockerfile } from "./dockerfile/template.ts";
import type { Template } from "./dockerfile/compiled-template.ts";

export interface ReadTemplate {
  readonly template: Template;
  /** What is imgmatch's own of it, as paths from the matrix: templates and partials, not a Dockerfile. */
  readonly files: readonly string[];
}

export interface ReadTemplateOptions {
  /** In place of the template's text. */
  readonly text: string | undefined;
  /** Arguments that are given beside the matrix. */
  readonly given: GivenArguments;
}

/** Throws `TEMPLATE_…`, and `ARGUMENT_UNDECLARED` for a Dockerfile, and for what is given to a template that never names it. */
export async function readTemplate(
  root: string,
  matrix: Pick<Matrix, "template" | "args">,
  { text: other, given }: ReadTemplateOptions,
): Promise<ReadTemplate> {
  const { value: path, at } = matrix.template;
  const file = join(root, path);
  const read = (reader: typeof readExactText) =>
    other === undefined
      ? readReferenced(root, path, at, (options) => reader(file, inputLimits.template, options))
      : Promise.resolve(other);
  if (!isTemplateName(path)) {
    const text = await read(readExactText);
    throwProblems(undeclaredArguments(matrix, parseDockerfile(text)));
    return { template: plainDockerfile(text), files: [] };
  }
  const text = await read(readTextFile);
  const partials = await readPartials(parseTemplate(text, file), (name, place) =>
    readPartial(root, join(dirname(path), partialFile(name)), place),
  );
  const texts = [text, ...[...partials.values()].map(({ text: partial }) => partial)];
  throwProblems(unreachedArguments(Object.keys(given), matrix, texts));
  const folder = dirname(path);
  return {
    template: compileTemplate(text, file, partials),
    files: [path, ...[...partials.keys()].map((name) => join(folder, partialFile(name)))],
  };
}

/** null where it is not there. A link may lead to what is in the matrix's folder, and nowhere else. */
async function readPartial(root: string, path: string, at: Place): Promise<PartialFile | null> {
  const file = join(root, path);
  if (!existsSync(file)) return null;
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

/** The file of its folder that the name may mean, as the matrix would name it. */
function nearestFile(root: string, path: string): string | null {
  const files = attempt(() => readdirSync(join(root, dirname(path))), []);
  const near = suggest(basename(path), files);
  return near === null ? null : posix.join(dirname(path), near);
}
