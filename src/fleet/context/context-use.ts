/**
 * Reads which files of its context a Dockerfile can take: the sources of COPY, ADD and RUN --mount in the stages of the target, as
 * BuildKit reads them (moby/buildkit, frontend/dockerfile/dockerfile2llb, instructions/commands_runmount.go). Pure.
 *
 * An undecided case takes the whole context: a file too many costs a build, a file too few makes a wrong image.
 */

import { posix } from "node:path";
import { remember } from "../../io/collections.ts";
import { type Base, findBases } from "../dockerfile/bases.ts";
import { mountFields } from "../dockerfile/mount-fields.ts";
import { builderFlags, type Instruction, type Instructions, jsonWords } from "../dockerfile/instructions.ts";
import { StageVariables } from "../dockerfile/stage-variables.ts";
import {
  isTaking,
  lowestStage,
  readStages,
  type StageOptions,
  stageOf,
  usedStages,
} from "../dockerfile/stages.ts";

export interface ContextSource {
  /** Relative to the context's root, which is the empty path. A pattern unless `isPlain`. */
  readonly path: string;
  readonly isPlain: boolean;
  /** With `--parents`: a pattern of the files below `path` that are taken. */
  readonly include: string | null;
  /** With `--exclude`: patterns of files below a match of `path` that are not taken. */
  readonly excludes: readonly string[];
}

/** An instruction that takes files of the context. */
interface Taking {
  /** Its text on one line. */
  readonly instruction: string;
  readonly sources: readonly ContextSource[];
}

/** A base image that may change which files are taken. */
interface UsedBase {
  readonly ref: string;
  /** Arguments of the Dockerfile that name files. An `ENV` of the image overrides them. */
  readonly names: readonly string[];
}

export type ContextUse =
  | { readonly whole: string }
  | { readonly whole: null; readonly takings: readonly Taking[]; readonly bases: readonly UsedBase[] };

/** The facts that Dockerfiles with the same deciding instructions share. */
interface TargetUse {
  /** The stages that the target needs. */
  readonly stages: ReadonlySet<number>;
  /** The files that these stages can take. */
  readonly use: ContextUse;
  /** Every use of a base image. */
  readonly bases: readonly Base[];
}

/** Thousands of cells have the same instructions, so Dockerfiles whose deciding instructions are equal are read once. */
export function targetUses(
  target: string | null,
): (dockerfile: Instructions, file: string, options: StageOptions) => TargetUse {
  const known = new Map<string, TargetUse>();
  return (dockerfile, file, options) =>
    remember(known, keyOf(dockerfile, options), () => ({
      bases: findBases(dockerfile, file, options),
      stages: usedStages(dockerfile, readStages(dockerfile, options), target),
      use: readContextUse(dockerfile, target, options),
    }));
}

function keyOf(dockerfile: Instructions, options: StageOptions): string {
  const { instructions, syntax } = dockerfile;
  const { args, platform } = options;
  const taking = instructions.filter(isTaking);
  const variable = taking.filter(({ text }) => text.includes("$"));
  const isDecided = variable.every(({ keyword }) => keyword === "FROM");
  const deciding = isDecided ? [] : instructions.filter(({ keyword }) => decides.has(keyword));
  // A line end separates the parts: no instruction's text has one.
  return [
    JSON.stringify([syntax?.value, syntax?.line, platform, args?.[frontEndArgument]]),
    ...taking.map(({ text, line }) => `${line} ${text}`),
    variable.length === 0 ? "" : JSON.stringify(readStages(dockerfile, options).map(({ ref }) => ref)),
    isDecided ? "" : JSON.stringify([deciding.map(({ text }) => text), args]),
  ].join("\n");
}

/** Instructions that decide what a variable means. */
const decides: ReadonlySet<string> = new Set(["ARG", "ENV", "FROM"]);

/** Thrown with the reason if the files cannot be decided. */
class Undecided extends Error {}

export function readContextUse(
  dockerfile: Instructions,
  target: string | null,
  options: StageOptions = {},
): ContextUse {
  try {
    requireKnownFrontEnd(dockerfile.syntax?.value);
    requireKnownFrontEnd(options.args?.[frontEndArgument]);
    return { whole: null, ...readStagesUse(dockerfile, target, options) };
  } catch (error) {
    if (error instanceof Undecided) return { whole: error.message };
    throw error;
  }
}

const frontEndArgument = "BUILDKIT_SYNTAX";

function requireKnownFrontEnd(named: string | undefined): void {
  if (named === undefined || named.trim() === "") return;
  if (/^(docker\.io\/)?docker\/dockerfile([:@]\S*)?$/.test(named.trim())) return;
  throw new Undecided(`its front end is ${named.trim()}, which may read a Dockerfile in another way`);
}

interface StageUse {
  readonly takings: Taking[];
  readonly bases: UsedBase[];
}

function readStagesUse(dockerfile: Instructions, target: string | null, options: StageOptions): StageUse {
  const stages = readStages(dockerfile, options);
  const used = usedStages(dockerfile, stages, target);
  const inside = stages.map((_, index) =>
    dockerfile.instructions.filter((each) => stageOf(each, stages) === index),
  );
  const variables = new StageVariables(dockerfile, options);
  const ends: StageVariables[] = [];
  const use: StageUse = { takings: [], bases: [] };
  for (const [index, stage] of stages.entries()) {
    const own = (ends[stage.above] ?? variables).forChild();
    ends.push(own);
    if (used.has(index) && inside[stage.above]?.some(({ keyword }) => keyword === "ONBUILD"))
      throw new Undecided(`${oneLine(stage.from.text)}: that stage has ONBUILD`);
    const found = readStage(inside[index] ?? [], own, used.has(index));
    if (!used.has(index)) continue;
    use.takings.push(...found.takings);
    const { from, ref } = lowestStage(stages, index) ?? stage;
    if (ref.ok && ref.value === "scratch") continue;
    requirePlatform(from, options);
    use.bases.push({ ref: ref.ok ? ref.value : "", names: found.names });
  }
  return use;
}

/** Throws for a base of another platform: base images are read for the cell's platform only. */
function requirePlatform({ text }: Instruction, { platform }: StageOptions): void {
  const platforms = builderFlags(text).flags.filter((flag) => flag.startsWith("--platform="));
  const same = ["--platform=$TARGETPLATFORM", "--platform=${TARGETPLATFORM}", `--platform=${platform}`];
  if (platforms.every((flag) => same.includes(flag))) return;
  throw new Undecided(`${oneLine(text)}: its image may be of another platform`);
}

function readStage(
  instructions: readonly Instruction[],
  variables: StageVariables,
  isUsed: boolean,
): { readonly takings: readonly Taking[]; readonly names: readonly string[] } {
  const takings: Taking[] = [];
  const names = new Set<string>();
  for (const instruction of instructions) {
    variables.read(instruction);
    if (!isUsed) continue;
    const expand = (word: string): string => {
      const { value, args } = variables.expand(word);
      if (value === null)
        throw new Undecided(`${oneLine(instruction.text)}: it is not known what ${word} is`);
      for (const name of args) names.add(name);
      return value;
    };
    const sources = readers.get(instruction.keyword)?.(instruction, expand) ?? [];
    if (sources.length > 0) takings.push({ instruction: oneLine(instruction.text), sources });
  }
  return { takings, names: [...names] };
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

type Expand = (word: string) => string;

/** The sources of an instruction, by its keyword. */
const readers: ReadonlyMap<string, (instruction: Instruction, expand: Expand) => readonly ContextSource[]> =
  new Map([
    ["COPY", copied],
    ["ADD", copied],
    ["RUN", mounted],
  ]);

function copied({ text }: Instruction, expand: Expand): readonly ContextSource[] {
  const { flags, rest } = builderFlags(text);
  const values = (name: string) =>
    flags.flatMap((flag) => (flag.startsWith(`${name}=`) ? [flag.slice(name.length + 1)] : []));
  // An empty name means the context.
  if (values("--from").some((name) => name !== "")) return [];
  const keepsParents = flags.includes("--parents") || values("--parents").some((value) => value !== "false");
  const excludes = values("--exclude");
  // BuildKit splits at blanks here: quotes do not hold a word together.
  return (jsonWords(rest) ?? rest.split(/\s+/)).slice(0, -1).map((word): ContextSource => {
    const source = expand(word);
    const pivot = source.indexOf("/./");
    const [path, include] = !keepsParents
      ? [source, null]
      : pivot < 0
        ? ["", cleaned(source)]
        : [source.slice(0, pivot), cleaned(source.slice(pivot + 3))];
    return {
      path: cleaned(path),
      isPlain: false,
      include,
      excludes: excludes.every(isSure) ? excludes : [],
    };
  });
}

/** True for a pattern that every reader understands in the same way. With any other, nothing is excluded. */
function isSure(pattern: string): boolean {
  return /^!?[\w.*?@~-][\w./*?@~-]*$/.test(pattern) && !/\.\.|\*{3}/.test(pattern);
}

/** Every path begins at the context's root, and `..` does not lead out of it. */
function cleaned(path: string): string {
  return posix.normalize(`/${path}`).replace(/^\/|\/$/g, "");
}

function mounted({ text }: Instruction, expand: Expand): readonly ContextSource[] {
  return builderFlags(text).flags.flatMap((flag): ContextSource[] => {
    const fields = mountFields(flag);
    if (fields === null) return [];
    // A quoted field may hold commas.
    if (flag.includes('"')) throw new Undecided(`${flag}: it has quotes`);
    const value = (name: string) => fields.get(name)?.value ?? "";
    const type = value("type").toLowerCase();
    if ((type !== "" && type !== "bind" && !type.includes("$")) || value("from") !== "") return [];
    return [{ path: cleaned(expand(value("source"))), isPlain: true, include: null, excludes: [] }];
  });
}
