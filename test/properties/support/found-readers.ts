/**
 * Every reader of outside text, found in the source: functions that halls share, named parse… or read…, whose first argument is a text.
 * Texts that are hard for one are made of its own module's words and expressions: each followed, and preceded, by what such expressions repeat.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../../src/", import.meta.url));

export interface FoundReader {
  /** `host/nvidia/nvidia-smi.ts parseSmiComplaint` */
  readonly name: string;
  readonly load: () => Promise<(text: string) => unknown>;
  readonly words: readonly string[];
}

const declaration =
  /^export (?:async )?function ((?:parse|read|split)\w*|unknownField)(?:<[^>]*>)?\(\s*(\w+): string\b([^{]*)/gm;
/** First arguments that name where a text is, and are none. */
const names: ReadonlySet<string> = new Set(["path", "file", "folder", "reference", "name", "identity"]);

export const foundReaders: readonly FoundReader[] = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .sort()
  .flatMap((file) => {
    const source = readFileSync(root + file, "utf8");
    return [...source.matchAll(declaration)]
      .filter(([, reader = "", first = ""]) => reader.startsWith("parse") || !names.has(first))
      .map(([, reader = "", , rest = ""]) => ({
        name: `${file} ${reader}`,
        load: async () => {
          const module = (await import(pathToFileURL(root + file).href)) as Readonly<Record<string, unknown>>;
          const read = module[reader] as (...args: readonly unknown[]) => unknown;
          const more = otherArguments(rest);
          return (text) => read(text, ...more);
        },
        words: wordsOf(source),
      }));
  });

/** Something of each type: what a reader does with its text is to be seen, and not what it answers. */
function otherArguments(parameters: string): readonly unknown[] {
  const types = parameters.slice(0, parameters.lastIndexOf(")")).matchAll(/(\w+)\??: ([^,]+)/g);
  return [...types].map(([, , type = ""]) => {
    if (/\[\]/.test(type)) return [];
    if (/^string/.test(type)) return "amd64";
    if (/^number/.test(type)) return 0;
    return /null/.test(type) ? null : {};
  });
}

/** The texts between the signs of an expression, and in quotes. */
function wordsOf(source: string): readonly string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import .*$/gm, "");
  const expressions = [
    ...code.matchAll(/(?<=[(,=[:?!&|>\s])\/((?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\n\\[])+)\/[a-z]*/g),
  ];
  const inExpressions = expressions.flatMap(([, pattern = ""]) =>
    pattern
      .replace(/\\[bBdDsSwW]|\[(?:\\.|[^\]])*\]|\{\d[^}]*\}|\(\?[:=!<]*/g, "|")
      .replace(/\\(.)/g, "$1")
      .split(/[()|*+?^$.]+/),
  );
  const quoted = [...code.matchAll(/"([^"\n\\]{1,40})"/g)].map(([, word = ""]) => word);
  return [...new Set(["", ...inExpressions, ...quoted])].filter((word) => word.length <= 60);
}

const pumps = [" ", "\n", "a", "1", "1.", "0:", "-", ","];

/** Each makes a text of a size. */
export function hardTexts(words: readonly string[]): readonly ((size: number) => string)[] {
  return words.flatMap((word) =>
    pumps.flatMap((pump) => [
      (size: number) => `${word}${pump.repeat(size / pump.length)}!`,
      (size: number) => (word + pump).repeat(size / (word.length + pump.length)),
    ]),
  );
}
