/** Makes a Dockerfile compile for the march of a build argument: by an argument, a `-march`, or the compiler of the Dockerfile. */

import { findMarch } from "../../hardware/cpu-marches.ts";
import { offsetIn } from "../dockerfile/instructions.ts";
import { addBefore, type Draft, replaceIn } from "./draft.ts";
import type { Assignments } from "./makefiles.ts";
import {
  argumentsOf,
  compilingStages,
  type DeclaredArgument,
  instructionsOf,
  type StagedInstruction,
  type Reading,
} from "./reading.ts";

/** Build arguments of the matrix, by name: templates. */
export type ArgumentTemplates = Readonly<Record<string, string>>;

const flags = "{{march.flags}}";
/** `-march=…`, `-mcpu=…`, and a `-mtune=…`, which would contradict the new march. */
const marchOption = / ?-m(?:arch|cpu|tune)=[\w.+-]+/g;

interface MarchVariation {
  readonly args: ArgumentTemplates;
  /** Settings of Makefiles that no argument can change. */
  readonly notes: readonly string[];
}

/** Changes the draft. A Dockerfile without a step that compiles stays. */
export function varyMarch(reading: Reading, draft: Draft, makefiles: Assignments): MarchVariation {
  const all = compilingStages(reading).map((index) => {
    const stage = instructionsOf(reading, index);
    return handOver(stage, draft, varyStage(stage, draft), makefiles);
  });
  return {
    args: Object.assign({}, ...all.map(({ args }) => args)) as ArgumentTemplates,
    notes: [...new Set(all.flatMap(({ notes }) => notes))],
  };
}

/** `make` at the beginning of a command, and the rest of the command. */
const makeCall =
  /(?:^\s*RUN\s+(?:--\S+\s+)*|&&|\|\||[;|(])\s*(?:[A-Za-z_]\w*=\S*\s+)*g?make(?=[\s;&|)]|$)(?=([^;&|]*))/gi;

/** Puts arguments on the command line of make if the Makefile assigns them, or assigns a `-march` of its own. */
function handOver(
  stage: readonly StagedInstruction[],
  draft: Draft,
  args: ArgumentTemplates,
  makefiles: Assignments,
): MarchVariation {
  const calls = callsIn(stage, makeCall);
  const [first] = calls;
  if (first === undefined || Object.keys(args).length === 0) return { args, notes: [] };
  const handed: Record<string, string> = {};
  const notes: string[] = [];
  for (const [name, { value, namesMarch, at }] of makefiles) {
    const isCompiler = /^(CC|CXX)$/.test(name);
    const own = args[name];
    if (own === undefined && !namesMarch) continue;
    if (calls.every(({ match }) => names(match, name))) continue;
    if (value === null && !isCompiler)
      notes.push(
        namesMarch
          ? `${at} has a -march of its own in ${name}, and the first counts: take it out`
          : `${at} assigns ${name}, so that none that a build is given counts: append $(MARCH_FLAGS) there, for ARG MARCH_FLAGS and args: { MARCH_FLAGS: "${flags}" }`,
      );
    else if (own !== undefined && (isCompiler || argumentsOf(stage).some((each) => each.name === name)))
      handed[name] = own;
    else handed[name] = [(value ?? "").replace(marchOption, "").trim(), flags].filter(Boolean).join(" ");
  }
  for (const name of Object.keys(handed))
    if (args[name] === undefined) addBefore(draft, first.placed, `ARG ${name}`);
  // From the end, so that earlier offsets stay true.
  for (const { placed, match } of calls.toReversed()) {
    const given = Object.keys(handed).filter((name) => !names(match, name));
    insertBehind(draft, placed, match, given.map((name) => ` ${name}="\${${name}}"`).join(""));
  }
  return { args: { ...args, ...handed }, notes };
}

/** The matches in steps that a shell runs. */
function callsIn(stage: readonly StagedInstruction[], pattern: RegExp) {
  const runs = stage.filter((each) => each.instruction.keyword === "RUN" && !isExecForm(each));
  return runs.flatMap((placed) =>
    [...placed.instruction.text.matchAll(pattern)].map((match) => ({ placed, match })),
  );
}

/** True if a call of make assigns a variable. */
function names([, rest = ""]: RegExpExecArray, name: string): boolean {
  return new RegExp(`(?:^|\\s)["']?${name}\\s*=`).test(rest);
}

/** Inserts a text behind a match of the instruction's text. */
function insertBehind(
  { lines, starts }: Draft,
  { instruction }: StagedInstruction,
  match: RegExpExecArray,
  text: string,
): void {
  const offset = offsetIn(instruction, match.index + match[0].length - 1) + 1;
  const index = starts.findLastIndex((start) => start < offset);
  const column = offset - (starts[index] ?? 0);
  const line = lines[index] ?? "";
  lines[index] = line.slice(0, column) + text + line.slice(column);
}

function varyStage(stage: readonly StagedInstruction[], draft: Draft): ArgumentTemplates {
  const own = Object.fromEntries(
    argumentsOf(stage).flatMap((argument) => {
      const template = templateFor(argument);
      return template === null ? [] : [[argument.name, template]];
    }),
  );
  if (Object.keys(own).length > 0) return own;
  const literal = varyLiterals(stage, draft);
  if (literal !== null) return literal;
  const called = varyCalls(stage, draft);
  return { ...called, ...varyCompiler(stage, draft) };
}

/** The template for an existing argument; null for one that does not decide the march. */
function templateFor({ name, value }: DeclaredArgument): string | null {
  const text = value ?? "";
  // The shell or the matrix would change such a text.
  if (/[$`\\]|<</.test(text)) return null;
  if (/(^|_)(MARCH|TARGET_?CPU|CPU_?TYPE|CPU_?ARCH|MICRO_?ARCH)$/i.test(name)) {
    if (/^-m(arch|cpu)=/.test(text)) return flags;
    if (text === "" || text === "native" || findMarch(text) !== null) return "{{march.name}}";
    return null;
  }
  const isFlags = /^((C|CXX|CPP)FLAGS|(OPT|MARCH|ARCH|CPU|EXTRA_?C(XX)?)_?FLAGS)$/i.test(name);
  if (isFlags || /^(CC|CXX)$/.test(name)) {
    const before = text.replace(marchOption, "").replace(/\s+/g, " ").trim() || compilers[name];
    return [before, flags].filter(Boolean).join(" ");
  }
  return null;
}

const compilers: Readonly<Record<string, string>> = { CC: "gcc", CXX: "g++" };

/** Replaces `-march` options; null if there are none. */
function varyLiterals(stage: readonly StagedInstruction[], draft: Draft): ArgumentTemplates | null {
  const name = "MARCH_FLAGS";
  const found = stage
    .filter(({ instruction }) => instruction.keyword === "RUN" || instruction.keyword === "ENV")
    .filter((each) => !isExecForm(each) && /-m(arch|cpu)=/.test(bodyOf(each)));
  for (const each of found)
    replaceIn(draft, each, marchOption, (match, variable) => {
      const blank = match.startsWith(" ") ? " " : "";
      return match.includes("-mtune") ? "" : `${blank}${variable(name)}`;
    });
  const [first] = found;
  if (first === undefined) return null;
  addBefore(draft, first, `ARG ${name}`);
  return { [name]: flags };
}

function bodyOf({ instruction: { text, documents } }: StagedInstruction): string {
  return `${text}\n${documents}`;
}

/** `RUN ["make", "-march=native"]` has no shell to expand a variable. */
function isExecForm({ instruction: { text } }: StagedInstruction): boolean {
  return /^\s*RUN\s+(--\S+\s+)*\[/i.test(text);
}

/** A compiler at the beginning of a command. */
const call =
  /(?:^\s*RUN\s+(?:--\S+\s+)*|&&|\|\||[;|(])\s*(?:[A-Za-z_]\w*=\S*\s+)*(gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|nvcc)(?:-[\d.]+)?(?=\s)/gi;

/** `RUN gcc …`: a compiler reads no variable, so the call gets the flags as an option. */
function varyCalls(stage: readonly StagedInstruction[], draft: Draft): ArgumentTemplates {
  const name = "MARCH_FLAGS";
  const calls = callsIn(stage, call);
  const [first] = calls;
  if (first === undefined) return {};
  // From the end, so that earlier offsets stay true.
  for (const { placed, match } of calls.toReversed()) {
    const option = match[1]?.toLowerCase() === "nvcc" ? ` -Xcompiler "\${${name}}"` : ` \${${name}}`;
    insertBehind(draft, placed, match, option);
  }
  addBefore(draft, first.placed, `ARG ${name}`);
  return { [name]: flags };
}

/**
 * Puts the option into `CC` and `CXX`, which Autoconf, CMake, Meson, make and setuptools read from the environment: so the project's flags
 * stay. If the Dockerfile itself names the compiler, the option goes into its flags.
 */
function varyCompiler(stage: readonly StagedInstruction[], draft: Draft): ArgumentTemplates {
  const step = stage.find(({ tool }) => tool !== null && tool !== "compiler");
  if (step === undefined) return {};
  const texts = stage.map(bodyOf).join("\n");
  const setsCompiler = /\b(CC|CXX)[= ]|CMAKE_C(XX)?_COMPILER=/.test(texts);
  const setsFlags = /^\s*ENV\s(.*\s)?C(XX)?FLAGS[= ]/im.test(texts);
  if (setsCompiler && setsFlags) {
    addBefore(draft, step, "ARG MARCH_FLAGS");
    addBefore(draft, step, 'ENV CFLAGS="${CFLAGS} ${MARCH_FLAGS}" CXXFLAGS="${CXXFLAGS} ${MARCH_FLAGS}"');
    return { MARCH_FLAGS: flags };
  }
  if (setsCompiler) {
    addBefore(draft, step, "ARG CFLAGS");
    addBefore(draft, step, "ARG CXXFLAGS");
    return { CFLAGS: `-O2 ${flags}`, CXXFLAGS: `-O2 ${flags}` };
  }
  addBefore(draft, step, "ARG CC=gcc");
  addBefore(draft, step, "ARG CXX=g++");
  return { CC: `gcc ${flags}`, CXX: `g++ ${flags}` };
}
