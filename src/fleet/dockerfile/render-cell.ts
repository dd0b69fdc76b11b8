/** Stage 3: cell → Dockerfile. The same input gives the same bytes on every machine. */

import { ImgmatchError } from "../../errors.ts";
import { type Cell, dockerfilePath } from "../cells/cell.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { withDefaults } from "./arguments.ts";
import { generatedLine } from "./generated-line.ts";
import { type Instructions, parseDockerfile } from "./instructions.ts";
import { metadataInstructions } from "./metadata.ts";
import { endOfTarget, runBases } from "./stages.ts";
import { type Template, viewOf } from "./view.ts";

export interface RenderedFile {
  readonly cell: string;
  /** Relative to the matrix file, with forward slashes. */
  readonly path: string;
  /** With the values of its arguments as defaults: whoever builds it by hand gets this cell's image. */
  readonly text: string;
  /** The same without these values: the input digest has them by themselves. */
  readonly bare: string;
  /** The values that its build gives to its `ARG`s. */
  readonly args: Readonly<Record<string, string>>;
}

export interface RenderedCell {
  readonly file: RenderedFile;
  /** The template's instructions, without the additions of imgmatch. */
  readonly own: Instructions;
  /** The file that has the lines of `own`: the rendered one, or the Dockerfile that is used as it stands. */
  readonly ownFile: string;
}

/**
 * Renders one cell's Dockerfile: the template, and at the end of the stage that becomes the image what imgmatch adds.
 *
 * @param runBaseOf Finds the image behind the target. Cells of one target share it.
 *
 * Throws `TEMPLATE_UNKNOWN_NAME`, and `DOCKERFILE_INVALID` where nothing can be added.
 */
export function renderCell(
  cell: Cell,
  matrix: Matrix,
  template: Template,
  args: RenderedFile["args"],
  runBaseOf = runBases(cell.settings.target?.value ?? null),
): RenderedCell {
  const { settings } = cell;
  const { value: name } = settings.template;
  const rendered = template.render(viewOf(cell, matrix, args));
  if (!/^\ufeff?[ \t]*FROM\s/im.test(rendered)) {
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: template.isPlain ? "the Dockerfile has no FROM" : "the template has no FROM",
      fix: template.isPlain ? "begin it with FROM and an image" : "begin it with FROM {{base}}",
      at: { file: name },
    });
  }
  const [directives, rest] = splitDirectives(withLastLineEnd(rendered, template), name);
  const text = `${directives}${generatedLine(name, cell.id)}${rest}`;
  const dockerfile = parseDockerfile(text);
  const end = endOfTarget(dockerfile, settings);
  const base = runBaseOf(dockerfile, { args, platform: cell.platform });
  const added = metadataInstructions(cell, matrix, base);
  const [before, after] = [text.slice(0, end), text.slice(end)];
  const inserted = after === "" ? `\n${added}` : `\n${added}\n`;
  const path = dockerfilePath(cell);
  const bare = `${before}${inserted}${after}`;
  const file: RenderedFile = {
    cell: cell.id,
    path,
    bare,
    args,
    // A plan does not ask for it.
    get text() {
      return withDefaults(bare, args);
    },
  };
  if (template.isPlain) return { file, own: linesUp(dockerfile), ownFile: name };
  return { file, own: after === "" ? dockerfile : withInsertion(dockerfile, end, inserted), ownFile: path };
}

/** A Dockerfile keeps the empty lines at its end. */
function withLastLineEnd(text: string, { isPlain }: Template): string {
  if (isPlain) return text.endsWith("\n") ? text : `${text}\n`;
  let end = text.length;
  while (text[end - 1] === "\n") end--;
  return `${text.slice(0, end)}\n`;
}

/** The lines of a Dockerfile are its own: there imgmatch's line above the first instruction is not. */
function linesUp({ escapeBy, syntax, instructions }: Instructions): Instructions {
  return { escapeBy, syntax, instructions: instructions.map((each) => ({ ...each, line: each.line - 1 })) };
}

/** The same instructions in a text with so much more at this offset. */
function withInsertion(
  { escapeBy, syntax, instructions }: Instructions,
  at: number,
  inserted: string,
): Instructions {
  const lines = inserted.split("\n").length - 1;
  return {
    escapeBy,
    syntax,
    instructions: instructions.map((each) =>
      (each.parts[0]?.offset ?? 0) < at
        ? each
        : {
            ...each,
            line: each.line + lines,
            parts: each.parts.map((part) => ({ ...part, offset: part.offset + inserted.length })),
          },
    ),
  };
}

/** `# syntax=` counts only in the first lines of a Dockerfile, so it stays in front of what imgmatch writes there. */
function splitDirectives(text: string, template: string): readonly [string, string] {
  const directives = /^\ufeff?(?:#![^\n]*\n)?(?:#[ \t]*[A-Za-z]+[ \t]*=[^\n]*\n)*/.exec(text)?.[0] ?? "";
  if (/^#[ \t]*escape[ \t]*=[ \t]*[^\\\s]/im.test(directives)) {
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: "only a backslash may continue a line: imgmatch writes its labels with one",
      fix: "remove the directive escape=, and end continued lines with a backslash",
      at: { file: template },
    });
  }
  return [directives, text.slice(directives.length)];
}
