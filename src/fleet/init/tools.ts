/** Which program of a `RUN` compiles: what packages it installs with the compilers' names does not count. */

import type { Instruction } from "../dockerfile/instructions.ts";

/** `cmake` reads other variables than `make` does, what builds a Python package others again, and a compiler that is called by itself none. */
export type Tool = "cmake" | "python" | "other" | "compiler";

const order = ["cmake", "python", "other", "compiler"] as const satisfies readonly Tool[];

const tools: Readonly<Record<Tool, RegExp>> = {
  cmake: /^cmake\b/,
  python:
    /^((python[\d.]*|pypy3?)\s+(-m\s+(pip|build|installer)\b|\S*setup\.py\b)|(uv\s+)?pip[\d.]*\s+(install|wheel)\b|uv\s+(sync|build)\b|poetry\s+(install|build)\b)/,
  other:
    /^(g?make|ninja|meson|configure|autoreconf|bazel(isk)?|scons|waf|b2|\S*(build|compile|make)\S*\.sh)(\s|$)/,
  compiler: /^(gcc|g\+\+|cc|c\+\+|clang(\+\+)?|nvcc)(-[\d.]+)?\s/,
};

/** null for an instruction that compiles nothing known. The first tool that says more than `other` counts. */
export function toolOf({ keyword, text, documents }: Instruction): Tool | null {
  if (keyword !== "RUN") return null;
  const commands = commandsOf(`${bodyOf(text)}\n${documents}`);
  const found = new Set(commands.flatMap((command) => nameOf(command) ?? []));
  return order.find((tool) => found.has(tool)) ?? null;
}

/** Without `RUN`, its flags, and the brackets of the exec form. */
function bodyOf(text: string): string {
  const body = text.replace(/^\s*RUN\s+(--\S+\s+)*/i, "");
  if (!body.startsWith("[")) return body;
  try {
    const words: unknown = JSON.parse(body);
    return Array.isArray(words) ? words.join(" ") : body;
  } catch {
    return body;
  }
}

function commandsOf(body: string): readonly string[] {
  return body.split(/&&|\|\||[;|\n]/).map((command) =>
    command
      .trim()
      // `cd src`, `( …`, and variables that are set for one command
      .replace(/^[({]\s*/, "")
      .replace(/^((sudo|env|exec|time)\s+|[A-Za-z_]\w*=("[^"]*"|'[^']*'|\S*)\s+)+/, ""),
  );
}

function nameOf(command: string): Tool | null {
  const [program = "", ...rest] = command.split(/\s+/);
  // A wheel is compiled already.
  if (rest.some((word) => word.endsWith(".whl"))) return null;
  const plain = [program.replace(/^.*\//, ""), ...rest].join(" ");
  return order.find((tool) => tools[tool].test(plain)) ?? null;
}
