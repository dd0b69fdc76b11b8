/** Build arguments of the matrix → those of a cell. Each value is a template of its own: a `{{` in it is rendered or refused. */

import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import type { Cell } from "../cells/cell.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { secretIn } from "../matrix/secret-names.ts";
import { suggest } from "../../io/suggest.ts";
import { checkTemplate } from "./check-template.ts";
import { evaluateTemplate } from "./evaluate-template.ts";
import { type Instructions, offsetIn, parseDockerfile, splitWords } from "./instructions.ts";
import { expandWord, quote } from "./shell-word.ts";
import { parseTemplate } from "./template-syntax.ts";
import { argumentView } from "./view.ts";

export type Arguments = Readonly<Record<string, string>>;

type Render = (view: object, cell: string) => string;

/**
 * Compiles the arguments of a matrix: cell → what its build is given. Throws `TEMPLATE_SYNTAX` for all that cannot be read, each at
 * its place in the matrix; for a cell `TEMPLATE_UNKNOWN_NAME`, and `MATRIX_SECRET` for a value that becomes a secret by what is put in.
 *
 * @example
 * compileArguments(matrix)(cell); // { MARCH_FLAGS: "-march=znver4" }
 */
export function compileArguments(matrix: Matrix): (cell: Cell) => Arguments {
  const entries = Object.entries(matrix.args);
  const isFixed = entries.every(([, { value }]) => !value.includes("{{"));
  if (isFixed) {
    const all = fromPairs(
      collect(entries, ([name, argument]) => [name, compile(name, argument, matrix.file)({}, "")] as const),
    );
    return () => all;
  }
  const compiled = collect(entries, ([name, argument]): [string, Render] => [
    name,
    compile(name, argument, matrix.file),
  ]);
  return (cell) => {
    const view = argumentView(cell, matrix);
    return fromPairs(collect(compiled, ([name, render]): [string, string] => [name, render(view, cell.id)]));
  };
}

function compile(name: string, argument: Located<string>, file: string): Render {
  const { value } = argument;
  if (!value.includes("{{")) {
    inMatrix(name, argument, () => checkFrontEnd(name, value));
    return () => value;
  }
  return inMatrix(name, argument, () => {
    const source = parseTemplate(value, file);
    checkTemplate(source);
    return (view, cell) =>
      inMatrix(name, argument, () => {
        const text = evaluateTemplate(source, view, cell);
        checkRendered(name, text);
        checkFrontEnd(name, text);
        return text;
      });
  });
}

function checkRendered(name: string, text: string): void {
  // What stands between the braces of a raw block, or of an axis's value.
  if (text.includes("{{"))
    throw new ImgmatchError({
      code: "TEMPLATE_SYNTAX",
      message: "a {{ is left in its value",
      fix: "write what is to be put in as {{name}}; a text with {{ belongs into the Dockerfile",
    });
  const secret = secretIn(name, text);
  if (secret !== null)
    throw new ImgmatchError({
      code: "MATRIX_SECRET",
      message: `its value is ${secret}; whoever has the image reads it with docker history`,
      fix: "give it to the step that needs it as a build secret: RUN --mount=type=secret,id=… with build --secret id=…,env=…",
    });
}

/**
 * `BUILDKIT_SYNTAX` chooses another front end, as `# syntax=` does (moby/buildkit, frontend/dockerfile/builder/build.go), and what that is
 * decides what becomes of every line. Where it stands in the Dockerfile imgmatch pins it; here its digest is to be in the value.
 */
function checkFrontEnd(name: string, value: string): void {
  if (name !== "BUILDKIT_SYNTAX") return;
  const [reference = ""] = value.trim().split(/\s/);
  if (reference === "" || /@sha256:[0-9a-f]{64}$/.test(reference)) return;
  throw new ImgmatchError({
    code: "REFERENCE_INVALID",
    message: `its value ${JSON.stringify(reference)} names a front end without its digest, so that nobody knows what will read the Dockerfile`,
    fix: `write ${reference}@sha256:…, or begin the Dockerfile with # syntax=${reference}, which imgmatch pins`,
  });
}

/** What is wrong with a value is said of its argument, at the place in the matrix. */
function inMatrix<Made>(name: string, { value, at }: Located<string>, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const [first, ...rest] = error.problems.map((problem): Problem => {
      const start = at.text?.indexOf(value, Math.max(0, (at.column ?? 1) - 1)) ?? -1;
      const column = start < 0 ? at.column : start + (problem.at?.column ?? 1);
      const message = `the argument ${name}: ${problem.message}`;
      return { ...problem, message, at: { ...at, ...(column === undefined ? {} : { column }) } };
    });
    throw first === undefined ? error : new ImgmatchError([first, ...rest], { cause: error });
  }
}

/** All that is wrong is thrown together. */
function collect<From, To>(all: readonly From[], make: (each: From) => To): To[] {
  const problems: Problem[] = [];
  const made = all.flatMap((each): To[] => {
    try {
      return [make(each)];
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  throwProblems(problems);
  return made;
}

function fromPairs(pairs: readonly (readonly [string, string])[]): Arguments {
  return Object.fromEntries(pairs);
}

/**
 * What BuildKit takes without an `ARG` (docs.docker.com/reference/dockerfile, "Predefined ARGs", "BuildKit built-in build args").
 */
const predefined = /^((HTTPS?|FTP|NO|ALL)_PROXY|BUILDKIT_\w+|SOURCE_DATE_EPOCH)$/i;

/** `ARGUMENT_UNDECLARED` for every argument without an `ARG` of its name, each at its place in the matrix. */
export function undeclaredArguments(
  { args, template }: Pick<Matrix, "args" | "template">,
  dockerfile: Pick<Instructions, "instructions">,
): readonly Problem[] {
  const declared = new Set(dockerfile.instructions.flatMap(argumentNames));
  return Object.entries(args).flatMap(([name, { at }]): Problem[] => {
    if (declared.has(name) || predefined.test(name)) return [];
    const near = suggest(name, [...declared]);
    return [
      {
        code: "ARGUMENT_UNDECLARED",
        message: `${template.value} has no ARG ${name}, so the argument reaches no image`,
        fix: `${near === null ? "" : `did you mean ${near}? Else `}write ARG ${name} into the stage that uses it, or remove the argument`,
        at,
      },
    ];
  });
}

/**
 * `ARGUMENT_UNDECLARED` for every one of these names that no text of a template has: its value would change the inputs of every cell and no
 * image. A template that goes over `args`, or makes the name of an `ARG`, may reach any.
 */
export function unreachedArguments(
  names: readonly string[],
  { template }: Pick<Matrix, "template">,
  texts: readonly string[],
): readonly Problem[] {
  if (texts.some((text) => /\bargs\b(?!\.)|^\s*ARG\b.*\{\{/im.test(text))) return [];
  return names.flatMap((name): Problem[] => {
    if (predefined.test(name) || texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))) return [];
    return [
      {
        code: "ARGUMENT_UNDECLARED",
        message: `${template.value} never names ${name}, so the argument reaches no image`,
        fix: `write ARG ${name} into the stage that uses it, or remove the argument`,
        at: { file: `--build-arg ${name}` },
      },
    ];
  });
}

/** `ARG A B=1`: A and B. */
function argumentNames({ keyword, text }: Instructions["instructions"][number]): readonly string[] {
  if (keyword !== "ARG") return [];
  return splitWords(text)
    .slice(1)
    .map(({ text: word }) => word.replace(/=.*$/s, ""));
}

/**
 * The Dockerfile with these values as the defaults of its `ARG`s. A value that is given goes before every default, so each `ARG` of that
 * name has it.
 *
 * @example
 * withDefaults("FROM debian:12\nARG FLAGS=-O2 LTO\n", { FLAGS: "-O3" }); // "FROM debian:12\nARG FLAGS=\"-O3\" LTO\n"
 */
export function withDefaults(dockerfile: string, args: Arguments): string {
  if (Object.keys(args).length === 0) return dockerfile;
  let text = dockerfile;
  // From the end, so that the offsets before stay true.
  const declared = parseDockerfile(dockerfile).instructions.filter(({ keyword }) => keyword === "ARG");
  for (const instruction of declared.reverse()) {
    for (const { text: word, start, end } of splitWords(instruction.text).slice(1).reverse()) {
      const [name = "", ...rest] = word.split("=");
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value === undefined || says(rest, value)) continue;
      const [from, to] = [offsetIn(instruction, start), offsetIn(instruction, end - 1) + 1];
      text = `${text.slice(0, from)}${name}=${quote(value)}${text.slice(to)}`;
    }
  }
  return text;
}

/** Whether a template has written the value itself. */
function says(written: readonly string[], value: string): boolean {
  if (written.length === 0) return false;
  const word = expandWord(written.join("="), new Map());
  return word.ok && word.value === value;
}
