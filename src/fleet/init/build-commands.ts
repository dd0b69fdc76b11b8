/** Finds `docker build` and its like in the scripts of a workflow. Pure. */

import { posix } from "node:path";
import { remember } from "../../io/collections.ts";
import { assignedIn, buildWords, mayBuild, mayBuildIn } from "./build-programs.ts";
import { foreignPath } from "./build-settings.ts";
import { asFound, type JobFiles, shortened } from "./job-files.ts";
import type { OriginalBuild } from "./original-build.ts";
import type { ShellWord } from "./shell-reader.ts";
import { commandsOf } from "./shell-words.ts";
import { argumentsIn, buildsOf, type Job, notKnown } from "./workflow-builds.ts";
import { type Contexts, textWith } from "./workflow-expressions.ts";

/** A folder of the repository. */
export interface Folder {
  readonly path: string;
  /** Why nobody knows which it is. */
  readonly why: string | null;
}

/** @param script its folder is where it starts; `shell` is GitHub's word for the program that reads it */
export function commandBuilds(
  job: Job,
  script: { readonly text: string; readonly folder: Folder; readonly shell: string },
  contexts: Contexts,
  files: JobFiles,
): { readonly builds: readonly OriginalBuild[]; readonly notes: readonly string[] } {
  const assigned = assignedIn(commandsOf(script.text, contexts));
  const ownEnv = Object.entries(contexts.env).filter(([name]) => assigned !== null && !assigned.has(name));
  const known = { ...contexts, env: Object.fromEntries(ownEnv) };
  const notRead = (text: string) => `job ${job.name}: init does not read ${shortened(text)}`;
  if (!/^(|sh|bash|\/bin\/(ba)?sh)(\s|$)/.test(script.shell))
    return {
      builds: [],
      notes: mayBuildIn(`${script.text}\n`) ? [notRead(`a script of ${script.shell}`)] : [],
    };
  const notes: string[] = [];
  const folders = [script.folder];
  const builds = commandsOf(script.text, known).flatMap((command): readonly OriginalBuild[] => {
    // A subshell leaves the folder of the shell as it is.
    const folder = folders[Math.min(command.depth, folders.length - 1)] ?? script.folder;
    folders.length = Math.min(folders.length, command.depth + 1);
    while (folders.length <= command.depth) folders.push(folder);
    const words = withoutPrefix(command.words);
    const [program] = words;
    if (/^(cd|pushd|popd)$/.test(program?.text ?? "")) {
      const isCertain = command.blocks.every((block) => block === "group");
      folders[command.depth] = isCertain ? entered(folder, words) : lost(folder, words);
      return [];
    }
    const size = buildWords(words);
    const [around] = command.blocks.filter((block) => block !== "group" && block !== "if");
    if (size > 0 && around !== undefined) {
      notes.push(`${notRead(command.written)}, which is in a ${around}`);
      return [];
    }
    if (size > 0)
      return commandBuild(job, words.slice(size), folder, known).map((build) =>
        asFound(build, files, (text) => notes.push(`job ${job.name}: ${text}`)),
      );
    files.commands.push(command);
    if (mayBuild(command, words)) notes.push(notRead(command.written));
    return [];
  });
  return { builds, notes };
}

const before = /^(do|then|else|elif|if|while|until|exec|command|nohup|!|\{|[A-Za-z_]\w*\+?=.*)$/s;

/** Programs that start another, with their flags: those without a value, and those whose value is the next word. */
const wrappers: Readonly<Record<string, readonly [alone: RegExp, withValue: RegExp]>> = {
  env: [/^(-i|--ignore-environment|--unset=.*)$/, /^(-u|--unset)$/],
  nice: [/^(-\d+|-n\d+|--adjustment=.*)$/, /^(-n|--adjustment)$/],
  sudo: [
    /^-([AbEHknPS]+|-preserve-env(=.*)?|-set-home|-non-interactive|-user=.*)$/,
    /^(-[ug]|--user|--group)$/,
  ],
  time: [/^-p$/, /^$/],
  timeout: [
    /^(-v|--verbose|--foreground|--preserve-status|--(signal|kill-after)=.*)$/,
    /^(-[sk]|--signal|--kill-after)$/,
  ],
};

/** Without words of the shell, variables and programs that stand before a command. Whole where one of their flags is not known. */
function withoutPrefix(words: readonly ShellWord[]): readonly ShellWord[] {
  const textAt = (at: number) => words[at]?.text ?? "";
  let at = 0;
  for (;;) {
    const text = textAt(at);
    const wrapper = Object.hasOwn(wrappers, text) ? wrappers[text] : undefined;
    if (wrapper === undefined && !before.test(text)) return words.slice(at);
    at += 1;
    if (wrapper === undefined) continue;
    const [alone, withValue] = wrapper;
    for (; textAt(at).startsWith("-") && textAt(at) !== "--"; at++) {
      if (withValue.test(textAt(at))) at += 1;
      else if (!alone.test(textAt(at))) return words;
    }
    if (textAt(at) === "--") at += 1;
    // Its first argument is the time.
    if (text === "timeout") at += 1;
  }
}

/** The folder after `cd`. */
function entered(folder: Folder, words: readonly ShellWord[]): Folder {
  const [program, target, ...more] = words;
  const isPlain =
    program?.text === "cd" && target?.isKnown && target.isUnderstood && /^[\w.][^:]*$/.test(target.text);
  if (isPlain && more.length === 0) return { ...folder, path: posix.join(folder.path, target.text) };
  return lost(folder, words);
}

function lost(folder: Folder, words: readonly ShellWord[]): Folder {
  return { ...folder, why: `after ${words.map(({ written }) => written).join(" ")} the folder is not known` };
}

const flagsWithoutValue = /^--(no-cache|pull|push|load|quiet|rm|force-rm|squash|check|layers)$|^-q$/;
const flagsThatAreRead = /^(-f|--file|--target|--platform|--build-arg|--build-context)$/;

function commandBuild(
  job: Job,
  words: readonly ShellWord[],
  folder: Folder,
  contexts: Contexts,
): readonly OriginalBuild[] {
  const left: string[] = [];
  let { why: elsewhere } = folder;
  const known = (word: ShellWord | undefined): string => {
    if (word === undefined) return "";
    if (word.isKnown && word.isUnderstood) return word.text;
    left.push(notKnown("docker build", word.written));
    return "";
  };
  /** A path that says which build it is. */
  const path = (what: string, word: ShellWord | undefined): string => {
    if (word === undefined) return "";
    if (!word.isKnown || !word.isUnderstood) elsewhere ??= notKnown(what, word.written);
    else elsewhere ??= foreignPath(what, word.text);
    return posix.join(folder.path, known(word));
  };
  const options = new Map<string, ShellWord[]>();
  const settings: (readonly [string, string])[] = [];
  let context: ShellWord | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    const [, flag = "", , inline] = /^(--?[\w-]+)(=(.*))?$/s.exec(word.text) ?? [];
    if (flag === "") {
      if (context !== undefined) known(context);
      context = word;
      continue;
    }
    const value =
      inline !== undefined
        ? { ...word, text: inline, written: word.written.replace(/^[^=]*=/, "") }
        : flagsWithoutValue.test(word.text)
          ? { ...word, text: "true" }
          : words[++at];
    if (value === undefined) break;
    if (flagsThatAreRead.test(flag)) remember(options, flag, () => []).push(value);
    else settings.push([flag.replace(/^--?/, ""), value.text]);
  }
  const one = (...names: readonly string[]) => names.flatMap((name) => options.get(name) ?? []).at(-1);
  const given = (options.get("--build-arg") ?? []).flatMap(({ text, written, isKnown, isUnderstood }) => {
    if (isUnderstood) return [{ text, known: isKnown ? text : textWith(text, contexts) }];
    const [, name, value = written] = /^["']?([A-Za-z_]\w*)=(.*?)["']?$/s.exec(written) ?? [];
    left.push(notKnown(name === undefined ? "build-args" : `args.${name}`, value));
    return [];
  });
  const args = argumentsIn(given, contexts, left);
  const named = (options.get("--build-context") ?? []).map(known).join("\n");
  const [platforms, target] = [known(one("--platform")), known(one("--target"))];
  const own = { context: path("context", context) || folder.path, file: path("file", one("-f", "--file")) };
  return buildsOf(job, {
    ...own,
    ...{ platforms, target, ...args, settings, contexts: named, folder: folder.path, elsewhere },
    // As a shell writes them.
    left: left.map((text) => text.replace(/\$\{\{ env\.(\w+) \}\}/g, "$$$1")),
  });
}
