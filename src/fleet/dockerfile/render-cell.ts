/** Renders a cell's Dockerfile. The same input gives the same bytes on every machine. */

import { ImgmatchError } from "../../errors.ts";
import { type Cell, dockerfilePath } from "../cells/cell.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { withDefaults } from "./arguments.ts";
import { type Instruction, type Instructions, parseDockerfile } from "./instructions.ts";
import { guardLine } from "./guard.ts";
import { metadataInstructions } from "./metadata.ts";
import { endOfTarget, runBases } from "./stages.ts";
import { type Template, viewOf } from "../template/view.ts";

export interface RenderedFile {
  readonly cell: string;
  /** Relative to the matrix file, with forward slashes. */
  readonly path: string;
  /** The defaults of its `ARG`s are the values of the cell, so that a build by hand gives the cell's image. */
  readonly text: string;
  /** The text without these defaults. The input digest covers the values on their own. */
  readonly bare: string;
  /** The values of its `ARG`s. */
  readonly args: Readonly<Record<string, string>>;
}

export interface RenderedCell {
  readonly file: RenderedFile;
  /** The template's instructions, without those that imgmatch adds. */
  readonly own: Instructions;
  /** The file that the lines of `own` count in: the rendered Dockerfile, or the Dockerfile of the project. */
  readonly ownFile: string;
  /** The image that the target starts from. */
  readonly runBase: string;
}

/**
 * Renders the template, and adds labels and environment to the end of the stage that becomes the image.
 * Throws `TEMPLATE_UNKNOWN_NAME`, and `DOCKERFILE_INVALID` where nothing can be added.
 *
 * @param findRunBase finds the image that the target starts from; cells of one target share it
 */
export function renderCell(
  cell: Cell,
  matrix: Matrix,
  template: Template,
  args: RenderedFile["args"],
  findRunBase = runBases(cell.settings.target?.value ?? null),
): RenderedCell {
  const { settings } = cell;
  const { value: name } = settings.template;
  const rendered = template.render(viewOf(cell, matrix, args));
  if (!/^\ufeff?[ \t]*FROM\s/im.test(rendered)) {
    const [message, fix] = template.isPlain
      ? ["the Dockerfile has no FROM", "begin it with FROM and an image"]
      : ["the template has no FROM", "begin it with FROM {{base}}"];
    throw new ImgmatchError({ code: "DOCKERFILE_INVALID", message, fix, at: { file: name } });
  }
  const [directives, rest] = splitDirectives(withLastLineEnd(rendered, template), name);
  const text = `${directives}${generatedLine(name, cell.id)}${rest}`;
  const dockerfile = parseDockerfile(text);
  const end = endOfTarget(dockerfile, settings);
  const base = findRunBase(dockerfile, { args, platform: cell.platform });
  const added = `${metadataInstructions(cell, matrix, base)}${settings.guard?.value ? guardLine : ""}`;
  const [before, after] = [text.slice(0, end), text.slice(end)];
  const inserted = after === "" ? `\n${added}` : `\n${added}\n`;
  const path = dockerfilePath(cell);
  const bare = `${before}${inserted}${after}`;
  const file: RenderedFile = {
    cell: cell.id,
    path,
    bare,
    args,
    // A plan never reads it.
    get text() {
      return withDefaults(bare, args);
    },
  };
  // A Dockerfile that is used as it stands does not have imgmatch's line above the first instruction.
  if (template.isPlain)
    return { file, own: moved(dockerfile, 0, { lines: -1, characters: 0 }), ownFile: name, runBase: base };
  const more = { lines: inserted.split("\n").length - 1, characters: inserted.length };
  return {
    file,
    own: after === "" ? dockerfile : moved(dockerfile, end, more),
    ownFile: path,
    runBase: base,
  };
}

/** The Dockerfile with these instructions in place of {@link guardLine}. */
export function withGuard<File extends RenderedFile>(file: File, instructions: string): File {
  const { args } = file;
  const bare = file.bare.replace(guardLine, () => `${guardLine}${instructions}`);
  const text = { get: () => withDefaults(bare, args), enumerable: true };
  return Object.defineProperties({ ...file }, { bare: { value: bare, enumerable: true }, text });
}

/** A Dockerfile of the project keeps the empty lines at its end. */
function withLastLineEnd(text: string, { isPlain }: Template): string {
  if (isPlain) return text.endsWith("\n") ? text : `${text}\n`;
  let end = text.length;
  while (text[end - 1] === "\n") end--;
  return `${text.slice(0, end)}\n`;
}

/** The same instructions after this many lines and characters were inserted at an offset. */
function moved(
  { escapeBy, syntax, instructions }: Instructions,
  at: number,
  { lines, characters }: { readonly lines: number; readonly characters: number },
): Instructions {
  const move = (each: Instruction): Instruction => ({
    ...each,
    line: each.line + lines,
    parts: each.parts.map((part) => ({ ...part, offset: part.offset + characters })),
  });
  const isBehind = ({ parts: [first] }: Instruction) => (first?.offset ?? 0) >= at;
  return { escapeBy, syntax, instructions: instructions.map((each) => (isBehind(each) ? move(each) : each)) };
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

/** Bytes at the beginning of a Dockerfile that hold the generated line: only directives precede it. */
export const generatedStart = 4096;

function generatedLine(template: string, cell: string): string {
  return `# Generated by imgmatch from ${template} for cell ${cell}; edits are lost.\n`;
}

/** True if a text begins as a generated Dockerfile of any fleet does. */
export function isGenerated(start: string): boolean {
  return /^(?:#[^\n]*\n)*# Generated by imgmatch from [^\n]+; edits are lost\.\n/.test(start);
}
