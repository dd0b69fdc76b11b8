/** An existing Dockerfile → its instructions by stage, with the lines that each takes, and the steps that compile. */

import { assignmentsIn, type Instruction, jsonWords, parseDockerfile } from "../dockerfile/instructions.ts";
import { readStages, type Stage, stageOf } from "../dockerfile/stages.ts";

export interface Placed {
  readonly instruction: Instruction;
  /** Index of its stage; -1 before the first `FROM`. */
  readonly stage: number;
  /** Counts from 1, as the instruction's own line. */
  readonly lastLine: number;
  /** The tool that it compiles with; null if it compiles nothing that imgmatch knows of. */
  readonly tool: Tool | null;
}

export interface Reading {
  readonly placed: readonly Placed[];
  readonly stages: readonly Stage[];
}

export interface DeclaredArgument {
  readonly name: string;
  /** Without quotes; null where it has none. */
  readonly value: string | null;
}

/** Never throws: what is no Dockerfile is found when it is planned. */
export function readDockerfile(text: string): Reading {
  const dockerfile = parseDockerfile(text);
  const stages = readStages(dockerfile);
  const lines = text.split("\n").length;
  const placed = dockerfile.instructions.map((instruction, index): Placed => {
    const next = dockerfile.instructions[index + 1];
    return {
      instruction,
      stage: stageOf(instruction, stages),
      lastLine: (next?.line ?? lines + 1) - 1,
      tool: toolOf(instruction),
    };
  });
  return { placed, stages };
}

/** The instructions of one stage; those before the first `FROM` for -1. */
export function instructionsOf({ placed }: Reading, stage: number): readonly Placed[] {
  return placed.filter((each) => each.stage === stage);
}

/** Stages with a step that compiles, in the order of the file. */
export function compilingStages({ placed }: Reading): readonly number[] {
  return [...new Set(placed.flatMap(({ stage, tool }) => (tool === null ? [] : [stage])))];
}

/** With their values unquoted. */
export function assignmentsOf({ text }: Instruction): readonly DeclaredArgument[] {
  return assignmentsIn(text).map(({ name, value }) => ({ name, value: value && unquoted(value) }));
}

/** The arguments that the `ARG`s among these declare. */
export function argumentsOf(placed: readonly Placed[]): readonly DeclaredArgument[] {
  const declared = placed.filter(({ instruction }) => instruction.keyword === "ARG");
  return declared.flatMap(({ instruction }) => assignmentsOf(instruction));
}

function unquoted(text: string): string {
  return text.replace(/^(["'])(.*)\1$/s, "$2");
}

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
function toolOf({ keyword, text, documents }: Instruction): Tool | null {
  if (keyword !== "RUN") return null;
  const commands = commandsOf(`${bodyOf(text)}\n${documents}`);
  const found = new Set(commands.flatMap((command) => nameOf(command) ?? []));
  return order.find((tool) => found.has(tool)) ?? null;
}

/** Without `RUN`, its flags, and the brackets of the exec form. */
function bodyOf(text: string): string {
  const body = text.replace(/^\s*RUN\s+(--\S+\s+)*/i, "");
  return jsonWords(body)?.join(" ") ?? body;
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
