/** The images that a Dockerfile starts from or copies from, and the same Dockerfile with each pinned to a digest. */

import type { Digest } from "../oci/digest.ts";
import { type Problem, throwProblems } from "../errors.ts";
import {
  type Dockerfile,
  type Instruction,
  offsetIn,
  parseDockerfile,
  type Word,
  words,
} from "./instructions.ts";
import { expandWord } from "./shell-word.ts";

/** One use of an image, with variables resolved: `nvidia/cuda:12.8.1-devel-ubuntu22.04`. Lines count from 1. */
export interface Base {
  readonly ref: string;
  readonly line: number;
}

export interface BaseOptions {
  /** Build arguments: they override the defaults of global ARGs. */
  readonly args?: Readonly<Record<string, string>>;
  /** `os/architecture[/variant]`, for `TARGETARCH` and its like in FROM. */
  readonly platform?: string;
}

/**
 * Every image that a build of this Dockerfile pulls, in the order of the text, once for each use: `FROM`, `COPY --from`,
 * `RUN --mount=from` and the `# syntax=` frontend. Stages and `scratch` are none.
 * Throws `DOCKERFILE_INVALID` with `file:line` for all references that cannot be decided.
 *
 * @example
 * findBases("ARG V=12\nFROM debian:${V} AS build\n", "Dockerfile"); // [{ ref: "debian:12", line: 2 }]
 */
export function findBases(dockerfile: string, file: string, options: BaseOptions = {}): readonly Base[] {
  return findBasesIn(parseDockerfile(dockerfile), file, options);
}

/** The same for a Dockerfile that is parsed already. */
export function findBasesIn(
  dockerfile: Dockerfile,
  file: string,
  options: BaseOptions = {},
): readonly Base[] {
  return locateBases(dockerfile, file, options).map(({ ref, line }) => ({ ref, line }));
}

/**
 * The text with each base replaced by `ref@digest`; nothing else changes. `replacements` puts another name in place of
 * a ref (a mirror, an equivalent image) and keeps the digest of the ref it replaces. A ref that carries a digest and is
 * not in `digests` stays. Throws `BASE_UNRESOLVED` for any other without a digest.
 */
export function pinBases(
  dockerfile: string,
  digests: ReadonlyMap<string, Digest>,
  replacements: ReadonlyMap<string, string> = new Map(),
  options: BaseOptions = {},
): string {
  const problems: Problem[] = [];
  let pinned = dockerfile;
  // From the end, so that the offsets before stay true.
  for (const { ref, line, start, end } of locateBases(
    parseDockerfile(dockerfile),
    "Dockerfile",
    options,
  ).reverse()) {
    const digest = digests.get(ref);
    const name = replacements.get(ref) ?? ref;
    if (digest === undefined && !name.includes("@")) {
      problems.unshift({
        code: "BASE_UNRESOLVED",
        message: `no digest is known for ${ref}`,
        at: { file: "Dockerfile", line },
      });
      continue;
    }
    const text = digest === undefined ? name : `${name.replace(/@.*$/, "")}@${digest}`;
    pinned = pinned.slice(0, start) + text + pinned.slice(end);
  }
  throwProblems(problems);
  return pinned;
}

interface LocatedBase extends Base {
  /** Offsets in the source of the text that names it. */
  readonly start: number;
  readonly end: number;
}

interface Walk {
  readonly dockerfile: Dockerfile;
  readonly file: string;
  readonly variables: Map<string, string>;
  readonly args: Readonly<Record<string, string>>;
  readonly stages: ReadonlySet<string>;
  readonly stagesSoFar: Set<string>;
  readonly bases: LocatedBase[];
  readonly problems: Problem[];
}

function locateBases(
  dockerfile: Dockerfile,
  file: string,
  { args = {}, platform }: BaseOptions,
): LocatedBase[] {
  const walk: Walk = {
    dockerfile,
    file,
    variables: platformVariables(platform),
    args,
    // COPY may name any stage of the file, also by its alias before it is defined (BuildKit then reports the cycle).
    stages: new Set(dockerfile.instructions.map(stageName).filter((name) => name !== null)),
    stagesSoFar: new Set(),
    bases: [],
    problems: [],
  };
  if (dockerfile.syntax !== null) {
    const { value, offset, line } = dockerfile.syntax;
    walk.bases.push({ ref: value, line, start: offset, end: offset + value.length });
  }
  let froms = 0;
  for (const instruction of dockerfile.instructions) {
    if (instruction.keyword === "FROM") {
      froms++;
      readFrom(walk, instruction);
    } else if (instruction.keyword === "ARG" && froms === 0) readGlobalArg(walk, instruction);
    else if (instruction.keyword === "COPY") readFlags(walk, instruction, /^--from=()(.+)$/s);
    else if (instruction.keyword === "RUN") readFlags(walk, instruction, /^--mount=(.*?,|)from=([^,]+)/s);
  }
  if (froms === 0)
    walk.problems.push({ code: "DOCKERFILE_INVALID", message: "there is no FROM", at: { file } });
  throwProblems(walk.problems);
  return walk.bases;
}

function readFrom(walk: Walk, instruction: Instruction): void {
  const [ref, as, name, ...more] = words(instruction.text)
    .slice(1)
    .filter(({ text }) => !text.startsWith("--"));
  const whole =
    as === undefined || (as.text.toUpperCase() === "AS" && name !== undefined && more.length === 0);
  if (ref === undefined || !whole) {
    invalid(walk, instruction, "FROM is not of the form FROM IMAGE [AS NAME]");
    return;
  }
  const value = expandWord(ref.text, walk.variables, walk.dockerfile.escapeBy);
  if (!value.ok) invalid(walk, instruction, `the image of FROM ${ref.text} is not known: ${value.reason}`);
  else if (value.value === "") invalid(walk, instruction, `the image of FROM ${ref.text} is empty`);
  else if (!walk.stagesSoFar.has(value.value.toLowerCase())) addBase(walk, instruction, ref, value.value);
  if (name !== undefined) walk.stagesSoFar.add(name.text.toLowerCase());
}

/** An `ARG` before the first `FROM`: its names and values are added to `variables`. */
export function readGlobalArg(
  { variables, args, dockerfile }: Pick<Walk, "variables" | "args" | "dockerfile">,
  { text }: Instruction,
): void {
  for (const { text: word } of words(text).slice(1)) {
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    const given = args[name];
    if (given !== undefined) variables.set(name, given);
    else if (equals >= 0) {
      const value = expandWord(word.slice(equals + 1), variables, dockerfile.escapeBy);
      // A default that cannot be evaluated leaves the name without a value; only a FROM that uses it is at fault.
      if (value.ok) variables.set(name, value.value);
      else variables.delete(name);
    }
  }
}

/** Flags stand right behind the keyword. `pattern` captures what precedes the reference and the reference itself. */
function readFlags(walk: Walk, instruction: Instruction, pattern: RegExp): void {
  for (const flag of words(instruction.text).slice(1)) {
    if (!flag.text.startsWith("--")) return;
    const found = pattern.exec(flag.text);
    if (found === null) continue;
    const end = flag.start + found[0].length;
    const written = found[2] as string;
    const word = { text: written, start: end - written.length, end };
    const ref = written.replace(/["']/g, "");
    if (ref.includes("$")) {
      invalid(
        walk,
        instruction,
        `${flag.text}: variables are not allowed here, name a stage instead (FROM … AS NAME)`,
      );
    } else if (!/^\d+$/.test(ref) && !walk.stages.has(ref.toLowerCase()))
      addBase(walk, instruction, word, ref);
  }
}

function addBase({ bases }: Walk, instruction: Instruction, { start, end }: Word, ref: string): void {
  if (ref === "scratch") return;
  bases.push({
    ref,
    line: instruction.line,
    start: offsetIn(instruction, start),
    end: offsetIn(instruction, end - 1) + 1,
  });
}

function stageName({ keyword, text }: Instruction): string | null {
  if (keyword !== "FROM") return null;
  return /\sAS\s+(\S+)\s*$/i.exec(text)?.[1]?.toLowerCase() ?? null;
}

export function platformVariables(platform: string | undefined): Map<string, string> {
  if (platform === undefined) return new Map();
  const [os = "", architecture = "", variant = ""] = platform.split("/");
  return new Map([
    ["TARGETPLATFORM", platform],
    ["TARGETOS", os],
    ["TARGETARCH", architecture],
    ["TARGETVARIANT", variant],
  ]);
}

function invalid({ problems, file }: Walk, { line, text }: Instruction, message: string): void {
  const fix = "write the image's name, or give its ARG a default before the first FROM";
  problems.push({ code: "DOCKERFILE_INVALID", message, fix, at: { file, line, text: text.trim() } });
}
