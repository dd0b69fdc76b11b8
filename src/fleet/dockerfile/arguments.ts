/** Renders the build arguments of the matrix for a cell. Each value is a template: a `{{` in it is rendered or refused. */

import { ImgmatchError, type Place, type Problem, throwProblems } from "../../errors.ts";
import type { Cell } from "../cells/cell.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { nameOfSecret, secretIn, secretInHistory } from "../matrix/secret-names.ts";
import { unsafeArgument } from "../matrix/unsafe-text.ts";
import { once } from "../../io/collections.ts";
import { suggest } from "../../io/suggest.ts";
import { memoizeBy, memoizeText } from "../cells/memoize-by.ts";
import { assignmentsIn, type Instructions, offsetIn, parseDockerfile } from "./instructions.ts";
import { compileText } from "../template/matrix-template.ts";
import { expandWord, quote } from "./shell-word.ts";
import { argumentViewOnce } from "../template/view.ts";

type Arguments = Readonly<Record<string, string>>;

/**
 * Compiles the arguments of a matrix into a function of a cell. Throws `TEMPLATE_SYNTAX` for every mistake at its place in the matrix. The
 * function throws `TEMPLATE_UNKNOWN_NAME`, and `MATRIX_SECRET` for a rendered value that looks like a secret. Its `takes` tells the
 * arguments that the cell's Dockerfile has; by default it takes all.
 *
 * @example
 * compileArguments(matrix)(cell); // { MARCH_FLAGS: "-march=znver4" }
 */
export function compileArguments(
  matrix: Matrix,
): (cell: Cell, takes?: (name: string) => boolean) => Arguments {
  const byName = memoizeText((name) =>
    memoizeBy((argument: Located<string>) =>
      compileText(`the argument ${name}`, argument, matrix.file, (text) => checkValue(name, text, matrix)),
    ),
  );
  collect(Object.entries(matrix.args), ([name, argument]) => byName(name)(argument));
  return (cell, takes = () => true) => {
    const { args } = cell.settings;
    if (isNone(args)) return args as Record<string, never>;
    const ownView = argumentViewOnce(cell, matrix);
    const render = (name: string, argument: Located<string>): string => byName(name)(argument)(view, cell.id);
    const others = namesOthers(args) ? argumentsOnce(args, render) : null;
    const view = once(() => (others === null ? ownView() : Object.assign(ownView(), { args: others })));
    const entries = Object.entries(args).filter(([name]) => takes(name));
    return Object.fromEntries(
      collect(entries, ([name, argument]) => [name, others?.[name] ?? render(name, argument)] as const),
    );
  };
}

/** Most arguments see no other: thousands of cells need nothing for it. */
const namesOthers = memoizeBy((args: Readonly<Record<string, Located<string>>>) =>
  Object.values(args).some(({ value }) => /\{\{.*\bargs\b/.test(value)),
);

/** The texts of a cell's arguments by name, each rendered when the first names it. Throws `TEMPLATE_SYNTAX` for arguments that name each other. */
function argumentsOnce(
  args: Readonly<Record<string, Located<string>>>,
  render: (name: string, argument: Located<string>) => string,
): Arguments {
  const open: string[] = [];
  const texts = {};
  for (const [name, argument] of Object.entries(args)) {
    const text = once(() => {
      const circle = open.slice(open.indexOf(name));
      if (open.includes(name))
        throw new ImgmatchError({
          code: "TEMPLATE_SYNTAX",
          message: `arguments name each other: ${[...circle, name].join(" → ")}`,
          fix: "write one argument without the others",
        });
      open.push(name);
      try {
        return render(name, argument);
      } finally {
        open.pop();
      }
    });
    Object.defineProperty(texts, name, { get: text, enumerable: true });
  }
  return texts;
}

const isNone = memoizeBy((args: object) => Object.keys(args).length === 0);

function checkValue(name: string, text: string, { file, notSecret }: Matrix): void {
  const secret = secretIn(name, text, notSecret);
  if (secret !== null)
    throw new ImgmatchError(secretInHistory(`its value is ${secret}`, { name: nameOfSecret(name, text) }));
  throwProblems(unsafeArgument(text, "its value", { file }));
  checkFrontEnd(name, text);
}

/**
 * `BUILDKIT_SYNTAX` chooses a front end, as `# syntax=` does (moby/buildkit, frontend/dockerfile/builder/build.go), which decides the meaning
 * of every line. imgmatch pins `# syntax=`; an argument's value must have the digest itself.
 */
function checkFrontEnd(name: string, value: string): void {
  if (name !== "BUILDKIT_SYNTAX") return;
  const [reference = ""] = value.trim().split(/\s/);
  if (reference === "" || /@sha256:[0-9a-f]{64}$/.test(reference)) return;
  throw new ImgmatchError({
    code: "REFERENCE_INVALID",
    message: `its value ${JSON.stringify(reference)} names a front end without a digest`,
    fix: `write ${reference}@sha256:…, or begin the Dockerfile with # syntax=${reference}, which imgmatch pins`,
  });
}

/** Throws the problems of all items together. */
function collect<From, To>(all: readonly From[], make: (each: From) => To): To[] {
  const problems: Problem[] = [];
  const results = all.flatMap((each): To[] => {
    try {
      return [make(each)];
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  throwProblems(problems);
  return results;
}

/**
 * Arguments that BuildKit takes without an `ARG` (docs.docker.com/reference/dockerfile, "Predefined ARGs", "BuildKit built-in build args").
 */
const predefined = /^((HTTPS?|FTP|NO|ALL)_PROXY|BUILDKIT_\w+|SOURCE_DATE_EPOCH)$/i;

export function isPredefined(name: string): boolean {
  return predefined.test(name);
}

export function declaredArguments({ instructions }: Pick<Instructions, "instructions">): ReadonlySet<string> {
  const declared = instructions.filter(({ keyword }) => keyword === "ARG");
  return new Set(declared.flatMap(({ text }) => assignmentsIn(text).map(({ name }) => name)));
}

/**
 * `ARGUMENT_UNDECLARED` for every argument of the matrix without an `ARG`.
 *
 * @param files names of the Dockerfiles, for messages
 */
export function undeclaredArguments(
  args: Readonly<Record<string, Located<string>>>,
  files: string,
  declared: ReadonlySet<string>,
): readonly Problem[] {
  return Object.entries(args).flatMap(([name, { at }]): Problem[] => {
    if (declared.has(name) || predefined.test(name)) return [];
    const near = suggest(name, [...declared]);
    const hint = near === null ? "" : `did you mean ${near}? Else `;
    return [reachesNone(`${files} has no ARG ${name}`, name, at, hint)];
  });
}

/**
 * `ARGUMENT_UNDECLARED` for every name that no template has: its value would change the inputs of every cell and no image. A template that
 * loops over `args`, or makes the name of an `ARG`, may reach any.
 */
export function unreachedArguments(
  names: readonly string[],
  files: string,
  texts: readonly string[],
): readonly Problem[] {
  if (texts.some((text) => /\bargs\b(?!\.)|^\s*ARG\b.*\{\{/im.test(text))) return [];
  return names.flatMap((name): Problem[] => {
    if (predefined.test(name) || texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))) return [];
    return [reachesNone(`${files} never names ${name}`, name, { file: `--build-arg ${name}` })];
  });
}

function reachesNone(why: string, name: string, at: Place, hint = ""): Problem {
  return {
    code: "ARGUMENT_UNDECLARED",
    message: `${why}, so the argument reaches no image`,
    fix: `${hint}write ARG ${name} into the stage that uses it, or remove the argument`,
    at,
  };
}

/**
 * Writes values into a Dockerfile as the defaults of its `ARG`s, into every `ARG` of a name.
 *
 * @example
 * withDefaults("FROM debian:12\nARG FLAGS=-O2 LTO\n", { FLAGS: "-O3" }); // "FROM debian:12\nARG FLAGS=\"-O3\" LTO\n"
 */
export function withDefaults(dockerfile: string, args: Arguments): string {
  if (Object.keys(args).length === 0) return dockerfile;
  let text = dockerfile;
  // From the end, so that earlier offsets stay true.
  const declared = parseDockerfile(dockerfile).instructions.filter(({ keyword }) => keyword === "ARG");
  for (const instruction of declared.reverse()) {
    for (const { name, value: written, start, end } of assignmentsIn(instruction.text).toReversed()) {
      const value = Object.hasOwn(args, name) ? args[name] : undefined;
      if (value === undefined || isWritten(written, value)) continue;
      const [from, to] = [offsetIn(instruction, start), offsetIn(instruction, end - 1) + 1];
      text = `${text.slice(0, from)}${name}=${quote(value)}${text.slice(to)}`;
    }
  }
  return text;
}

/** True if the template itself has written the value. */
function isWritten(written: string | null, value: string): boolean {
  const word = written === null ? null : expandWord(written, new Map());
  return word?.ok === true && word.value === value;
}
