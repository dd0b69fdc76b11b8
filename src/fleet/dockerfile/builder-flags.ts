/** The flags of an instruction, as BuildKit takes them off (moby/buildkit, frontend/dockerfile/parser/split_command.go). */

export interface BuilderFlags {
  /** Without quotes and escapes: `--from=build`. */
  readonly flags: readonly string[];
  /** The text behind them. */
  readonly rest: string;
}

export function builderFlags(instruction: string): BuilderFlags {
  const line = instruction.trim().replace(/^\S+\s*/, "");
  const flags: string[] = [];
  let at = 0;
  while (line.startsWith("--", at)) {
    const word = readWord(line, at);
    at = word.end;
    if (word.text === "--") break;
    flags.push(word.text);
    while (/\s/.test(line[at] ?? "")) at++;
  }
  return { flags, rest: line.slice(at).trim() };
}

function readWord(line: string, start: number): { readonly text: string; readonly end: number } {
  let text = "";
  let quote = "";
  let at = start;
  for (; at < line.length; at++) {
    const character = line[at] as string;
    if (quote === "" && /\s/.test(character)) break;
    if (character === quote) quote = "";
    else if (quote === "" && (character === '"' || character === "'")) quote = character;
    else if (character === "\\") text += line[++at] ?? "";
    else text += character;
  }
  return { text, end: at };
}
