/**
 * The provider sends the Dockerfile inside the build context, and BuildKit applies no .dockerignore to a context that comes as
 * an archive. An instruction that copies or mounts the root of the context takes an equal folder without the Dockerfile instead. Pure.
 */

import { posix } from "node:path";
import {
  type Instruction,
  offsetIn,
  parseDockerfile,
  type Word,
  splitWords,
} from "../fleet/dockerfile/instructions.ts";
import { mountFields } from "../fleet/dockerfile/mount-fields.ts";

/** A text to put into the source, and its place. */
interface Insertion {
  readonly at: number;
  readonly text: string;
}

/**
 * The Dockerfile with `to` before every source of COPY, ADD and RUN --mount=type=bind that is the root of the context, or may
 * match `own`, the folder that has the Dockerfile. The same text where there is none.
 */
export function withoutOwnFolder(dockerfile: string, own: string, to: string): string {
  const insertions = parseDockerfile(dockerfile).instructions.flatMap((instruction) => {
    const { keyword } = instruction;
    if (keyword === "RUN") return ofMounts(instruction, own, to);
    return keyword === "COPY" || keyword === "ADD" ? ofSources(instruction, own, to) : [];
  });
  return insertions.reduceRight(
    (text, insertion) => text.slice(0, insertion.at) + insertion.text + text.slice(insertion.at),
    dockerfile,
  );
}

function ofSources(instruction: Instruction, own: string, to: string): Insertion[] {
  const { keyword, text } = instruction;
  const [, ...all] = splitWords(text);
  const flags = all.slice(0, flagCount(all)).map(({ text: flag }) => flag);
  if (flags.some((flag) => flag.startsWith("--from="))) return [];
  // `--parents` keeps the part of a path behind this point.
  const prefix = flags.some((flag) => /^--parents(=true)?$/i.test(flag)) ? `${to}/./` : `${to}/`;
  return listOf(text, all.slice(flags.length))
    .slice(0, -1)
    .filter(({ text: source }) => isContext(keyword, source) && mayMatch(source, own))
    .map(({ start }) => ({ at: offsetIn(instruction, start), text: prefix }));
}

function flagCount(all: readonly Word[]): number {
  const first = all.findIndex(({ text }) => !text.startsWith("--"));
  return first < 0 ? all.length : first;
}

/** Sources and target without their quotes. */
function listOf(text: string, rest: readonly Word[]): Word[] {
  const start = rest[0]?.start ?? text.length;
  if (text[start] !== "[") {
    return rest.map(({ text: word, start: from, end }) =>
      /^["']/.test(word) ? { text: word.slice(1), start: from + 1, end } : { text: word, start: from, end },
    );
  }
  return [...text.slice(start).matchAll(/"((?:\\.|[^"\\])*)"/g)].map((match) => {
    const from = start + match.index + 1;
    return { text: match[1] ?? "", start: from, end: from + (match[1] ?? "").length };
  });
}

/** ADD takes a URL or a repository, which a variable may hold too. */
function isContext(keyword: string, source: string): boolean {
  if (source.startsWith("<<")) return false;
  return keyword === "COPY" || !/^[a-z][a-z0-9+.-]*:\/\/|^[\w.-]+@|^\$/i.test(source);
}

/** The engine takes every source as one below the root: `..` leads nowhere. */
function mayMatch(source: string, own: string): boolean {
  if (source.includes("$")) return true;
  const [first = ""] = posix
    .normalize(`/${source.replace(/["']/g, "")}`)
    .slice(1)
    .split("/");
  return first === "" || first === own || /[*?[\\]/.test(first);
}

/** `--mount=type=bind,source=.,target=/src`; both type and source may be left out. */
function ofMounts(instruction: Instruction, own: string, to: string): Insertion[] {
  const [, ...all] = splitWords(instruction.text);
  return all.slice(0, flagCount(all)).flatMap(({ text: flag, start, end }): Insertion[] => {
    const fields = mountFields(flag);
    if (fields === null || fields.has("from") || (fields.get("type")?.value ?? "bind") !== "bind") return [];
    const source = fields.get("source");
    const last = /["']$/.test(flag) ? end - 2 : end - 1;
    if (source === undefined) return [{ at: offsetIn(instruction, last) + 1, text: `,source=${to}` }];
    if (!mayMatch(source.value, own)) return [];
    return [{ at: offsetIn(instruction, start + source.at), text: `${to}/` }];
  });
}
