/** Compiles a text of the matrix that is a template: an argument, a target, a base. Its mistakes have their places in the matrix. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import type { Located } from "../matrix/matrix.ts";
import { remember } from "../../io/collections.ts";
import { checkTemplate, namesIn } from "./check-template.ts";
import { evaluateTemplate } from "./evaluate-template.ts";
import { parseTemplate } from "./template-syntax.ts";

type RenderText = (view: () => object, cell: string) => string;

/**
 * @param what its name in messages: `the argument MARCH_FLAGS`
 * @param check throws for a rendered text that is not allowed
 */
export function compileText(
  what: string,
  text: Located<string>,
  file: string,
  check: (text: string) => void = checkNoBraces,
): RenderText {
  const { value } = text;
  if (!value.includes("{{")) {
    inMatrix(what, text, () => check(value));
    return () => value;
  }
  return inMatrix(what, text, () => {
    const source = parseTemplate(value, file);
    checkTemplate(source);
    return oncePerValues(namesIn(source), (view, cell) =>
      inMatrix(what, text, () => {
        const rendered = evaluateTemplate(source, view(), cell);
        checkNoBraces(rendered);
        check(rendered);
        return rendered;
      }),
    );
  });
}

/** Renders once for each combination of the named values: thousands of cells share a few. With null, every value counts. */
function oncePerValues(names: readonly string[] | null, render: RenderText): RenderText {
  if (names === null) return render;
  const root: Known = { text: null, below: new Map() };
  return (view, cell) => {
    const values = view() as Readonly<Record<string, unknown>>;
    let known = root;
    for (const name of names)
      known = remember(known.below, values[name], () => ({ text: null, below: new Map() }));
    known.text ??= render(() => values, cell);
    return known.text;
  };
}

interface Known {
  text: string | null;
  readonly below: Map<unknown, Known>;
}

/** Refuses braces that a raw block or an axis's value leaves behind. */
function checkNoBraces(text: string): void {
  if (!text.includes("{{")) return;
  throw new ImgmatchError({
    code: "TEMPLATE_SYNTAX",
    message: "its value still has a {{ after rendering",
    fix: "write {{name}} for a value; a text with a literal {{ belongs in the Dockerfile",
  });
}

/** Adds the text's name and its place in the matrix to mistakes. */
function inMatrix<Made>(what: string, { value, at }: Located<string>, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const [first, ...rest] = error.problems.map((problem): Problem => {
      const start = at.text?.indexOf(value, Math.max(0, (at.column ?? 1) - 1)) ?? -1;
      const column = start < 0 ? at.column : start + (problem.at?.column ?? 1);
      const message = `${what}: ${problem.message}`;
      return { ...problem, message, at: { ...at, ...(column === undefined ? {} : { column }) } };
    });
    throw first === undefined ? error : new ImgmatchError([first, ...rest], { cause: error });
  }
}
