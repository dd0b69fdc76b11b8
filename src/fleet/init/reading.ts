/** Reads an existing Dockerfile: its instructions with their stages and lines, and the steps that compile. */

import {
  assignmentsIn,
  type Instruction,
  jsonWords,
  parseDockerfile,
  unquoted,
} from "../dockerfile/instructions.ts";
import { readStages, type Stage, stageOf } from "../dockerfile/stages.ts";

export interface StagedInstruction {
  readonly instruction: Instruction;
  /** Index of its stage; -1 before the first `FROM`. */
  readonly stage: number;
  /** Counts from 1, as the instruction's line does. */
  readonly lastLine: number;
  /** The tool that it compiles with; null if no known one. */
  readonly tool: Tool | null;
}

export interface Reading {
  readonly placed: readonly StagedInstruction[];
  readonly stages: readonly Stage[];
}

export interface DeclaredArgument {
  readonly name: string;
  /** Without quotes; null if it has none. */
  readonly value: string | null;
}

/** Never throws: planning finds the mistakes. */
export function readDockerfile(text: string): Reading {
  const dockerfile = parseDockerfile(text);
  const stages = readStages(dockerfile);
  const lines = text.split("\n").length;
  const placed = dockerfile.instructions.map((instruction, index): StagedInstruction => {
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

/** The instructions of a stage; for -1, those before the first `FROM`. */
export function instructionsOf({ placed }: Reading, stage: number): readonly StagedInstruction[] {
  return placed.filter((each) => each.stage === stage);
}

/** Stages with a step that compiles, in the order of the file. */
export function compilingStages({ placed }: Reading): readonly number[] {
  return [...new Set(placed.flatMap(({ stage, tool }) => (tool === null ? [] : [stage])))];
}

/** The assignments of an instruction, without quotes. */
export function assignmentsOf({ text }: Instruction): readonly DeclaredArgument[] {
  return assignmentsIn(text).map(({ name, value }) => ({ name, value: value && unquoted(value) }));
}

/** The arguments that the `ARG`s among these declare. */
export function argumentsOf(placed: readonly StagedInstruction[]): readonly DeclaredArgument[] {
  const declared = placed.filter(({ instruction }) => instruction.keyword === "ARG");
  return declared.flatMap(({ instruction }) => assignmentsOf(instruction));
}

/** Tools read different variables: `cmake`, builders of Python packages, others as `make`. A compiler by itself reads none. */
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

/** null for an instruction that compiles nothing known. Of several tools, the first of `order` counts. */
export function toolOf({ keyword, text, documents }: Instruction): Tool | null {
  if (keyword !== "RUN") return null;
  const commands = commandsOf(`${bodyOf(text)}\n${documents}`);
  const found = new Set(commands.flatMap((command) => toolIn(command) ?? []));
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
      // Removes a bracket, and `sudo` or variables before a command.
      .replace(/^[({]\s*/, "")
      .replace(/^((sudo|env|exec|time)\s+|[A-Za-z_]\w*=("[^"]*"|'[^']*'|\S*)\s+)+/, ""),
  );
}

function toolIn(command: string): Tool | null {
  const [program = "", ...rest] = command.split(/\s+/);
  // A wheel is compiled already.
  if (rest.some((word) => word.endsWith(".whl"))) return null;
  const commandLine = [program.replace(/^.*\//, ""), ...rest].join(" ");
  return order.find((tool) => tools[tool].test(commandLine)) ?? null;
}
