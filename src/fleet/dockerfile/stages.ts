/** The stages of a Dockerfile: the base of each stage (an image or a stage), its name, and which stages a target needs. */

import { ImgmatchError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import {
  assignmentsIn,
  type Dockerfile,
  type Instruction,
  type Instructions,
  offsetIn,
  parseDockerfile,
  splitWords,
  type Word,
} from "./instructions.ts";
import { expandWord, type ShellWord } from "./shell-word.ts";

export interface Stage {
  readonly from: Instruction;
  /** The image as it is written; undefined if there is none. */
  readonly image: Word | undefined;
  /** The image with variables resolved. */
  readonly ref: ShellWord;
  /** Index of the stage's base, the last stage above with the name; -1 if it starts from an image. */
  readonly above: number;
  /** As it is written; null if it has none. */
  readonly name: string | null;
  /** False if the instruction is not of the form `FROM IMAGE [AS NAME]`. */
  readonly isWhole: boolean;
}

export interface StageOptions {
  /** Build arguments: they override the defaults of global ARGs. */
  readonly args?: Readonly<Record<string, string>>;
  /** `os/architecture[/variant]`, for `TARGETARCH` and its like in FROM. */
  readonly platform?: string;
  /** Folders that are named as an image is. */
  readonly contexts?: Readonly<Record<string, string>> | undefined;
}

export function readStages(dockerfile: Instructions, options: StageOptions = {}): readonly Stage[] {
  return read(dockerfile, options).stages;
}

/** The known values of the arguments before the first `FROM`, and of the platform's arguments. */
export function globalArguments(
  dockerfile: Instructions,
  options: StageOptions,
): ReadonlyMap<string, string> {
  return read(dockerfile, options).globals;
}

interface Read extends Pick<Instructions, "instructions">, StageOptions {
  readonly stages: readonly Stage[];
  readonly globals: ReadonlyMap<string, string>;
}

/** Several callers in a row ask for the stages of one Dockerfile. */
let last: Read | null = null;

function read({ instructions, escapeBy }: Instructions, options: StageOptions): Read {
  const { args = {}, platform } = options;
  if (last?.instructions === instructions && last.args === options.args && last.platform === platform)
    return last;
  const globals = new Map<string, string>(platform === undefined ? [] : ofPlatform(platform));
  const stages: Stage[] = [];
  const indices = new Map<string, number>();
  for (const instruction of instructions) {
    if (instruction.keyword === "FROM") {
      const stage = readFrom(instruction, globals, escapeBy, indices);
      if (stage.name !== null) indices.set(stage.name.toLowerCase(), stages.length);
      stages.push(stage);
    } else if (instruction.keyword === "ARG" && stages.length === 0)
      readGlobalArg(instruction, globals, args, escapeBy);
  }
  last = { ...options, instructions, stages, globals };
  return last;
}

/** The index of the stage that an instruction stands in; -1 before the first. */
export function stageOf({ line }: Instruction, stages: readonly Stage[]): number {
  return stages.findLastIndex(({ from }) => from.line <= line);
}

/** Indices of the target, of the stages that it starts from or copies from, and -1. */
export function usedStages(
  dockerfile: Instructions,
  stages: readonly Stage[],
  target: string | null,
): ReadonlySet<number> {
  const found = target === null ? [] : stagesNamed(stages, target);
  const places = dockerfile.instructions.map((each) => stageOf(each, stages));
  const used = new Set([-1, ...(found.length > 0 ? found : [stages.length - 1])]);
  // A Set is iterated in insertion order and sees what is added on the way.
  for (const index of used) {
    const stage = stages[index];
    if (stage === undefined) continue;
    const own = dockerfile.instructions.filter((_, at) => places[at] === index);
    for (const name of [stage.ref.ok ? stage.ref.value : "", ...own.flatMap(copiedFrom)])
      for (const other of stagesNamed(stages, name)) used.add(other);
    // An undecided reference may be any stage.
    if (!stage.ref.ok) for (const each of stages.keys()) used.add(each);
  }
  return used;
}

/** Two stages may have one name. */
function stagesNamed(stages: readonly Stage[], name: string): readonly number[] {
  const known = name.toLowerCase();
  return [...stages.keys()].filter(
    (index) => stages[index]?.name?.toLowerCase() === known || String(index) === name,
  );
}

/** True if an instruction can take files from a stage, an image or the context: a `RUN` needs a flag for it. */
export function isTaking({ keyword, text }: Instruction): boolean {
  return keyword === "RUN" ? /^\s*RUN\s+--/i.test(text) : taking.has(keyword);
}

const taking: ReadonlySet<string> = new Set(["FROM", "COPY", "ADD", "ONBUILD"]);

/** The names in `COPY --from=…` and `RUN --mount=…,from=…`: a stage, its number, or an image. */
export function copiedFrom(instruction: Instruction): readonly string[] {
  if (instruction.keyword === "FROM" || !isTaking(instruction)) return [];
  const unquoted = instruction.text.replace(/["'\\]/g, "");
  if (!/from=/i.test(unquoted)) return [];
  return Array.from(unquoted.matchAll(/(?:--|,|=)from=([^\s,]+)/gi), ([, name = ""]) => name);
}

/** The index of the stage with this name (in any case) or number, or -1. */
function findStage(stages: readonly Pick<Stage, "name">[], target: string): number {
  if (/^\d+$/.test(target)) return stages[Number(target)] === undefined ? -1 : Number(target);
  return stages.findIndex(({ name }) => name?.toLowerCase() === target.toLowerCase());
}

function readFrom(
  from: Instruction,
  variables: ReadonlyMap<string, string>,
  escapeBy: string,
  above: ReadonlyMap<string, number>,
): Stage {
  const [image, as, name, ...more] = splitWords(from.text)
    .slice(1)
    .filter(({ text }) => !text.startsWith("--"));
  const isNamed = as?.text.toUpperCase() === "AS" && name !== undefined && more.length === 0;
  const ref = expandWord(image?.text ?? "", variables, escapeBy);
  return {
    from,
    image,
    ref,
    above: (ref.ok ? above.get(ref.value.toLowerCase()) : undefined) ?? -1,
    name: isNamed ? name.text : null,
    isWhole: image !== undefined && (as === undefined || isNamed),
  };
}

/** Adds the names and values of an `ARG` before the first `FROM` to `variables`. */
function readGlobalArg(
  { text }: Instruction,
  variables: Map<string, string>,
  args: Readonly<Record<string, string>>,
  escapeBy: string,
): void {
  for (const { name, value: standard } of assignmentsIn(text)) {
    const given = args[name];
    if (given !== undefined) variables.set(name, given);
    else if (standard !== null) {
      const value = expandWord(standard, variables, escapeBy);
      // A default that cannot be evaluated is no fault until a FROM uses the name.
      if (value.ok) variables.set(name, value.value);
      else variables.delete(name);
    }
  }
}

function ofPlatform(platform: string): readonly (readonly [string, string])[] {
  const [os = "", architecture = "", variant = ""] = platform.split("/");
  return [
    ["TARGETPLATFORM", platform],
    ["TARGETOS", os],
    ["TARGETARCH", architecture],
    ["TARGETVARIANT", variant],
  ];
}

/** The offset behind the target stage, or behind the whole text without a target. Throws `DOCKERFILE_INVALID`. */
export function endOfTarget(
  dockerfile: Dockerfile,
  { target, template }: Pick<Matrix, "target" | "template">,
): number {
  const text = dockerfile.source;
  const end = target === null ? text.length : endOfStage(dockerfile, target);
  const lines = text.slice(0, end).trimEnd().split("\n");
  const last = lines.findLast((line) => !/^\s*(#|$)/.test(line)) ?? "";
  if (/\\[ \t]*$/.test(last)) {
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: `the last instruction of the image ends with a backslash: ${last.trim()}`,
      fix: "remove the backslash",
      at: { file: template.value },
    });
  }
  return end;
}

function endOfStage(dockerfile: Dockerfile, { value: target, at }: Located<string>): number {
  const stages = readStages(dockerfile);
  const index = findStage(stages, target);
  if (index < 0) {
    const known = stages.flatMap(({ name }) => name ?? []);
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: `the template has no stage ${target}`,
      fix: known.length > 0 ? `its stages are ${known.join(", ")}` : `write FROM … AS ${target}`,
      at,
    });
  }
  const next = stages[index + 1];
  return next === undefined ? dockerfile.source.length : offsetIn(next.from, 0);
}

/** {@link runBaseOf} for cells of one target, remembered for Dockerfiles with the same `FROM`s if those name no variable. */
export function runBases(target: string | null): (dockerfile: Instructions, options: StageOptions) => string {
  const known = new Map<string, string>();
  return (dockerfile, options) => {
    let key = "";
    for (const { keyword, text } of dockerfile.instructions) if (keyword === "FROM") key += `${text}\n`;
    const read = () => runBaseOf(dockerfile, target, options);
    return key.includes("$") ? read() : remember(known, key, read);
  };
}

/**
 * The image below the target stage, or below the last stage, also by way of stages between. Its variables are resolved; an undecided
 * reference stays as written, and `findBases` says what is wrong with it.
 *
 * @example
 * runBaseOf("FROM gcc:14 AS build\nFROM debian:12\n", null); // "debian:12"
 */
export function runBaseOf(
  dockerfile: string | Instructions,
  target: string | null,
  options: StageOptions = {},
): string {
  const stages = readStages(
    typeof dockerfile === "string" ? parseDockerfile(dockerfile) : dockerfile,
    options,
  );
  const wanted = target === null ? -1 : findStage(stages, target);
  const stage = lowestStage(stages, wanted >= 0 ? wanted : stages.length - 1);
  return stage?.ref.ok === true ? stage.ref.value : (stage?.image?.text ?? "");
}

/** The stages of a chain, from the stage on an image up to the target; without a target to the last stage. */
export function stageChain(stages: readonly Stage[], target: string | null): readonly number[] {
  const wanted = target === null ? -1 : findStage(stages, target);
  const chain: number[] = [];
  for (let at = wanted >= 0 ? wanted : stages.length - 1; at >= 0; at = stages[at]?.above ?? -1)
    chain.unshift(at);
  return chain;
}

/** The stage at the lower end of a chain: it starts from an image. */
export function lowestStage(stages: readonly Stage[], index: number): Stage | undefined {
  let stage = stages[index];
  while (stage !== undefined && stage.above >= 0) stage = stages[stage.above];
  return stage;
}
