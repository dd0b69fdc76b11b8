/** Finds `docker build` and its like in the scripts of a workflow. Pure. */

import { posix } from "node:path";
import { remember } from "../../io/collections.ts";
import { splitWords, unquoted } from "../dockerfile/instructions.ts";
import type { OriginalBuild } from "./original-build.ts";
import { argumentsIn, buildsOf, type Job, notKnown } from "./workflow-builds.ts";
import { type Contexts, textWith } from "./workflow-expressions.ts";

const builders =
  /^(?:sudo\s+)?(?:docker\s+(?:buildx\s+|image\s+)?build|nerdctl\s+build|podman\s+(?:image\s+)?build|buildah\s+(?:bud|build))\s+(.*)$/s;

/** Commands that build images, or may build some, in ways that only they know. */
const others =
  /^(?:sudo\s+)?(docker\s+buildx\s+bake|docker[ -]compose\b.*\b(?:build|up)\b|buildctl\s|earthly\s|pack\s+build|ko\s+build|depot\s+\w+|img\s+build|make\s+.*(?:docker|image|container)|(?:\.\/|ba?sh\s+)\S*(?:build|docker|image)\S*)/;

/** @param folder in which the script starts */
export function commandBuilds(
  job: Job,
  script: { readonly text: string; readonly folder: string },
  contexts: Contexts,
): { readonly builds: readonly OriginalBuild[]; readonly notes: readonly string[] } {
  const known = { ...contexts, env: withoutAssigned(contexts.env, script.text) };
  const notes: string[] = [];
  let { folder } = script;
  const builds = commandsOf(script.text).flatMap((command): readonly OriginalBuild[] => {
    const entered = /^cd\s+["']?([\w./-]+)["']?$/.exec(command)?.[1];
    if (entered !== undefined) folder = posix.join(folder, entered);
    const flags = builders.exec(command)?.[1];
    if (flags !== undefined) return commandBuild(job, flags, folder, known);
    if (others.test(command)) notes.push(`job ${job.name}: init does not read ${shortened(command)}`);
    return [];
  });
  return { builds, notes };
}

/** A backslash continues a line. Words that open a block of the shell stand before a command. */
function commandsOf(script: string): readonly string[] {
  return script
    .replace(/\\\r?\n/g, " ")
    .split(/\r?\n|&&|\|\||;/)
    .map((command) => command.trim().replace(/^(?:(?:do|then|else|time|exec|\(|\{)\s+)+/, ""));
}

function shortened(command: string): string {
  return command.length > 60 ? `${command.slice(0, 60)} …` : command;
}

/** Variables that the script itself assigns have a value of their own. */
export function withoutAssigned(
  env: Contexts["env"],
  script: string,
  isAssigned = /(?:^|[\n;&|(]|\b(?:export|local|declare|read|for|do|then|echo)\s)\s*["']?(\w+)(?==|\s+in\b|\s*$)/gm,
): Contexts["env"] {
  const names = new Set([...script.matchAll(isAssigned)].map(([, name]) => name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.has(name)));
}

const flagsWithoutValue = /^--(no-cache|pull|push|load|quiet|rm|force-rm|squash|check|layers)$|^-q$/;
const flagsThatAreRead = /^(-f|--file|--target|--platform|--build-arg|--build-context)$/;

function commandBuild(job: Job, flags: string, folder: string, contexts: Contexts): readonly OriginalBuild[] {
  const left: string[] = [];
  const words = splitWords(protectedExpressions(flags)).map(({ text }) => unquoted(text));
  const known = (text: string): string => {
    const value = textWith(expanded(text, contexts), contexts);
    if (value === undefined || /\$[({]/.test(value)) left.push(notKnown("docker build", text));
    return value ?? "";
  };
  const options = new Map<string, string[]>();
  const settings: (readonly [string, string])[] = [];
  let context = ".";
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (/^(\d?>|\||<)/.test(word)) break;
    const [, flag = "", , inline] = /^(--?[\w-]+)(=(.*))?$/s.exec(word) ?? [];
    if (flag === "") context = known(word);
    else {
      const value = inline ?? (flagsWithoutValue.test(word) ? "true" : (words[++at] ?? ""));
      if (flagsThatAreRead.test(flag)) remember(options, flag, () => []).push(value);
      else settings.push([flag.replace(/^--?/, ""), value]);
    }
  }
  const one = (...names: readonly string[]) =>
    known(names.flatMap((name) => options.get(name) ?? []).at(-1) ?? "");
  const file = one("-f", "--file");
  const given = (options.get("--build-arg") ?? []).map((each) => expandedArgument(each, contexts));
  const args = argumentsIn(given.join("\n"), contexts, left);
  const named = (options.get("--build-context") ?? []).map(known).join("\n");
  const [platforms, target] = [one("--platform"), one("--target")];
  return buildsOf(job, {
    context: posix.join(folder, context),
    file: file && posix.join(folder, file),
    ...{ platforms, target, ...args, settings, contexts: named, folder },
    // As a shell writes them.
    left: left.map((text) => text.replace(/\$\{\{ env\.(\w+) \}\}/g, "$$$1")),
  });
}

/** Variables of the shell become expressions, of which the evaluator knows whether they are known. */
function expanded(text: string, { env }: Contexts): string {
  return text.replace(/\$(?!\{\{)\{?(\w+)\}?/g, (_, name: string) =>
    Object.hasOwn(env, name) ? String(env[name]) : `\${{ env.${name} }}`,
  );
}

/** `NAME` without a value takes that of the environment. */
function expandedArgument(text: string, contexts: Contexts): string {
  return expanded(/^\w+$/.test(text) ? `${text}=\${{ env.${text} }}` : text, contexts);
}

/** Removes blanks within expressions, so that these stay one word. */
function protectedExpressions(text: string): string {
  return text.replace(/\$\{\{(.*?)\}\}/gs, (_, inner: string) => `\${{${inner.replace(/\s+/g, "")}}}`);
}
