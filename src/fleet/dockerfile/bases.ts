/** Finds the images that a Dockerfile starts from or copies from, and pins each to a digest. */

import type { Digest } from "../../oci/digest.ts";
import { type Problem, throwProblems } from "../../errors.ts";
import {
  type Instruction,
  type Instructions,
  offsetIn,
  parseDockerfile,
  splitWords,
  type Word,
} from "./instructions.ts";
import { readStages, type Stage, type StageOptions } from "./stages.ts";

/** One use of an image. */
export interface Base {
  /** With variables resolved: `nvidia/cuda:12.8.1-devel-ubuntu22.04`. */
  readonly ref: string;
  /** Counts from 1. */
  readonly line: number;
  /** The front end of `# syntax=`. */
  readonly isFrontEnd?: true;
}

/**
 * Every use of an image that a build pulls, in the order of the text: `FROM`, `COPY --from`, `RUN --mount=from` and the `# syntax=`
 * front end. Stages, `scratch` and the matrix's `contexts` are no images. Throws `DOCKERFILE_INVALID` with `file:line` for all references that cannot be decided.
 *
 * @example
 * findBases("ARG V=12\nFROM debian:${V} AS build\n", "Dockerfile"); // [{ ref: "debian:12", line: 2 }]
 */
export function findBases(
  dockerfile: string | Instructions,
  file: string,
  options: StageOptions = {},
): readonly Base[] {
  const parsed = typeof dockerfile === "string" ? parseDockerfile(dockerfile) : dockerfile;
  return locateBases(parsed, file, options).map(({ start: _start, end: _end, ...base }) => base);
}

/**
 * Replaces each base by `ref@digest`, and changes nothing else. `replacements` gives a ref another name, of a mirror for example, and the
 * digest stays that of the ref. A ref with a digest of its own needs none in `digests`. A front end without a digest stays as it is: some
 * engines ignore front ends. Throws `BASE_UNRESOLVED` for any other ref without a digest. `local` gives a ref the name of that base if only an engine has it.
 */
export function pinBases(
  dockerfile: string,
  digests: ReadonlyMap<string, Digest>,
  replacements: ReadonlyMap<string, string> = new Map(),
  options: StageOptions & { readonly local?: ReadonlyMap<string, string> } = {},
): string {
  const problems: Problem[] = [];
  let pinned = dockerfile;
  // From the end, so that earlier offsets stay true.
  const bases = locateBases(parseDockerfile(dockerfile), "Dockerfile", options);
  for (const { ref, line, start, end, isFrontEnd } of bases.reverse()) {
    const digest = digests.get(ref);
    if (isFrontEnd && digest === undefined) continue;
    const local = options.local?.get(ref);
    const name = local ?? replacements.get(ref) ?? ref;
    if (local === undefined && digest === undefined && !name.includes("@")) {
      problems.unshift({
        code: "BASE_UNRESOLVED",
        message: `no digest is known for ${ref}`,
        at: { file: "Dockerfile", line },
      });
      continue;
    }
    const isWhole = local !== undefined || digest === undefined;
    const text = isWhole ? name : `${name.replace(/@.*$/, "")}@${digest}`;
    pinned = pinned.slice(0, start) + text + pinned.slice(end);
  }
  throwProblems(problems);
  return pinned;
}

interface LocatedBase extends Base {
  /** Offsets of its text in the source. */
  readonly start: number;
  readonly end: number;
}

interface Walk {
  readonly file: string;
  readonly isContext: (ref: string) => boolean;
  readonly stages: ReadonlySet<string>;
  readonly bases: LocatedBase[];
  readonly problems: Problem[];
}

function locateBases(dockerfile: Instructions, file: string, options: StageOptions): LocatedBase[] {
  const stages = readStages(dockerfile, options);
  const { contexts = {} } = options;
  const walk: Walk = {
    file,
    // BuildKit compares familiar names (moby/buildkit, frontend/dockerui/namedcontext.go).
    isContext: (ref) => Object.hasOwn(contexts, ref.replace(/^(docker\.io\/)?(library\/)?|:latest$/g, "")),
    // COPY may name any stage of the file, also by its alias before it is defined (BuildKit then reports the cycle).
    stages: new Set(stages.flatMap(({ name }) => name?.toLowerCase() ?? [])),
    bases: [],
    problems: [],
  };
  if (dockerfile.syntax !== null) {
    const { value, offset, line } = dockerfile.syntax;
    walk.bases.push({ ref: value, line, start: offset, end: offset + value.length, isFrontEnd: true });
  }
  for (const { from, name } of stages)
    if (name !== null && walk.isContext(name.toLowerCase()))
      invalid(walk, from, `${name} is a stage, and contexts of the matrix has the same name`, otherName);
  let read = 0;
  for (const instruction of dockerfile.instructions) {
    const stage = stages[read];
    if (stage?.from === instruction) {
      readFrom(walk, stage);
      read++;
    } else if (instruction.keyword === "COPY") readFlags(walk, instruction, /^--from=()(.+)$/s);
    else if (instruction.keyword === "RUN") readFlags(walk, instruction, /^--mount=(.*?,|)from=([^,]+)/s);
  }
  if (stages.length === 0)
    walk.problems.push({ code: "DOCKERFILE_INVALID", message: "there is no FROM", at: { file } });
  throwProblems(walk.problems);
  return walk.bases;
}

function readFrom(walk: Walk, { from, image, ref, above, isWhole }: Stage): void {
  if (image === undefined || !isWhole) invalid(walk, from, "FROM is not of the form FROM IMAGE [AS NAME]");
  else if (!ref.ok) invalid(walk, from, `the image of FROM ${image.text} is not known: ${ref.reason}`);
  else if (ref.value === "") invalid(walk, from, `the image of FROM ${image.text} is empty`);
  else if (walk.isContext(ref.value))
    invalid(walk, from, `${image.text} is a folder of contexts: FROM needs an image or a stage`, otherName);
  else if (above < 0) addBase(walk, from, image, ref.value);
}

/** Reads the flags, which follow the keyword directly. `pattern` captures the text before the reference, and the reference. */
function readFlags(walk: Walk, instruction: Instruction, pattern: RegExp): void {
  if (!instruction.text.includes("from=")) return;
  for (const flag of splitWords(instruction.text).slice(1)) {
    if (!flag.text.startsWith("--")) return;
    const found = pattern.exec(flag.text);
    if (found === null) continue;
    const end = flag.start + found[0].length;
    const written = found[2] as string;
    const word = { text: written, start: end - written.length, end };
    const ref = written.replace(/["']/g, "");
    if (ref.includes("$")) {
      const message = `${flag.text}: variables are not allowed here, name a stage instead (FROM … AS NAME)`;
      invalid(walk, instruction, message);
    } else if (!/^\d+$/.test(ref) && !walk.stages.has(ref.toLowerCase()) && !walk.isContext(ref))
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

const otherName = "give the folder another name in contexts of the matrix";

function invalid(
  { problems, file }: Walk,
  { line, text }: Instruction,
  message: string,
  fix = "write the image's name, or give its ARG a default before the first FROM",
): void {
  problems.push({ code: "DOCKERFILE_INVALID", message, fix, at: { file, line, text: text.trim() } });
}
