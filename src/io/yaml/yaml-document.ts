/** Parses YAML with a limit of depth: the `yaml` package ends the whole process if a text nests too deep. */

import { Composer, type CST, type Document, Lexer, type LineCounter, Parser, YAMLParseError } from "yaml";
import { ImgmatchError, type Place } from "../../errors.ts";

/** A matrix needs seven levels. */
const deepest = 64;

/**
 * Parses the first document of a text, without a search for keys that stand twice: `yaml` compares each with each.
 * Throws `INPUT_TOO_LARGE` for lists and mappings nested deeper than 64, before `yaml` composes them by recursion.
 */
export function parseYamlDocument(
  text: string,
  lines: LineCounter,
  place: (offset: number) => Place,
  schema: "failsafe" | "core" = "failsafe",
): Document {
  return withoutStacks(() => {
    const composer = new Composer({ schema, uniqueKeys: false });
    let first: Document | null = null;
    for (const document of composer.compose(tokens(text, lines, place), true, text.length)) {
      if (first === null) {
        first = document;
        continue;
      }
      const [start, end] = document.range;
      first.errors.push(new YAMLParseError([start, end], "MULTIPLE_DOCS", "several documents"));
      break;
    }
    return first as Document;
  });
}

function* tokens(text: string, lines: LineCounter, place: (offset: number) => Place): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    // The stack has an entry for the document, and one for each open list and mapping.
    if (parser.stack.length - 1 <= deepest) continue;
    throw new ImgmatchError({
      code: "INPUT_TOO_LARGE",
      message: `lists and mappings are nested deeper than ${deepest}`,
      fix: "remove levels: a matrix needs seven, other files fewer",
      at: place(parser.offset),
    });
  }
  yield* parser.end();
}

/** A megabyte of quotation marks is half a million errors, each with a stack of a kilobyte that nobody reads. */
function withoutStacks<Result>(work: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
