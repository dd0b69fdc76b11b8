/** What the steps of a job have done to the files of the repository before a build. Pure. */

import { posix } from "node:path";
import { fieldsOf } from "../../io/json.ts";
import type { OriginalBuild } from "./original-build.ts";
import type { ShellCommand, ShellWord } from "./shell-reader.ts";
import { type Contexts, textWith } from "./workflow-expressions.ts";

export interface JobFiles {
  /** Commands that ran, other than builds. */
  readonly commands: ShellCommand[];
  /** Folders that `actions/checkout` filled, each with the other repository that is there; null for the own one. */
  readonly repositories: Map<string, string | null>;
  /** Paths that steps have written, other than by commands. */
  readonly written: { readonly path: string; readonly by: string }[];
}

/** What `actions/download-artifact` writes. */
export function downloads(given: unknown, contexts: Contexts, { written }: JobFiles): void {
  const { path } = fieldsOf(given);
  written.push({ path: textWith(String(path ?? "."), contexts) ?? ".", by: "actions/download-artifact" });
}

export function checkOut(given: unknown, contexts: Contexts, { repositories }: JobFiles): void {
  const { repository, path } = fieldsOf(given);
  const written = String(repository ?? "").trim();
  const isOwn = written === "" || /^\$\{\{\s*github\.repository\s*\}\}$/.test(written);
  const folder = textWith(String(path ?? "."), contexts) ?? ".";
  repositories.set(posix.normalize(folder).replace(/\/$/, ""), isOwn ? null : written);
}

/** The build with what the steps before it have changed. A remark tells of a step that may have changed its context. */
export function asFound(
  build: OriginalBuild,
  { commands, repositories, written }: JobFiles,
  remark: (text: string) => void,
): OriginalBuild {
  const { dockerfile, context, contexts } = build;
  const [other = null] = [dockerfile, context, ...Object.values(contexts)].flatMap((path) => {
    const holders = [...repositories].filter(
      ([folder]) => folder === "." || `${path}/`.startsWith(`${folder}/`),
    );
    const [, repository = null] = holders.sort(([one], [two]) => two.length - one.length)[0] ?? [];
    return repository === null ? [] : [`${path} is of the repository ${repository}, which a step checks out`];
  });
  const changing = commands.find((command) => mayChange(command, posix.basename(dockerfile)));
  const filling = [
    ...written.flatMap(({ path, by }) => (isIn(context, path) ? [by] : [])),
    ...commands.flatMap((command) => (fills(command, context) ? [shortened(command.written)] : [])),
  ];
  for (const step of new Set(filling))
    remark(
      `${step}: the step may change the context ${context} before the build; do the same before imgmatch build`,
    );
  return {
    ...build,
    elsewhere: build.elsewhere ?? other,
    left: [
      ...build.left,
      ...(changing === undefined
        ? []
        : [`${dockerfile}: a step may change it before the build: ${shortened(changing.written)}`]),
    ],
  };
}

const readers =
  "[ [[ awk cat cmp diff docker echo egrep find git grep hadolint head less ls md5sum podman printf sha256sum stat tail test wc".split(
    " ",
  );

/** True for a command that names the file, unless it certainly only reads. */
function mayChange({ words, targets, written }: ShellCommand, name: string): boolean {
  if (!written.includes(name)) return false;
  const names = ({ text }: ShellWord) =>
    text.split(/[\s"'=<>]+/).some((each) => posix.basename(each) === name);
  const isReader = readers.includes(words[0]?.text ?? "");
  return targets.some(names) || (!isReader && words.some(names));
}

function isIn(folder: string, path: string): boolean {
  const own = posix.normalize(path);
  if (/^(\/|~|\.\.)|[$`]/.test(own)) return false;
  return posix.normalize(folder) === "." || `${own}/`.startsWith(`${posix.normalize(folder)}/`);
}

/** Programs that write files, some with a word that says so. */
const writers: Readonly<Record<string, RegExp | null>> = {
  ...Object.fromEntries("cp install ln mv patch rsync tee unzip wget".split(" ").map((name) => [name, null])),
  curl: /^(-\w*[oO]\w*|--output|--remote-name)$/,
  git: /^(apply|am|submodule|lfs|clone)$/,
  sed: /^(-\w*i|--in-place)/,
  tar: /^(-?\w*x|--extract|--get)/,
};

/** True for a command that certainly writes files, one of them into the folder. */
function fills({ words, targets }: ShellCommand, folder: string): boolean {
  const [program, ...others] = words;
  const name = program?.text ?? "";
  if (targets.some(({ text, isKnown }) => isKnown && isIn(folder, text))) return true;
  const says = Object.hasOwn(writers, name) ? writers[name] : undefined;
  if (says === undefined || (says !== null && !others.some(({ text }) => says.test(text)))) return false;
  const paths = others.filter(({ text }) => !text.startsWith("-")).map(({ text }) => text);
  // Without a folder of their own, such programs write into the current one.
  return posix.normalize(folder) === "." ? !isAway(paths.at(-1)) : paths.some((path) => isIn(folder, path));
}

function isAway(path: string | undefined): boolean {
  return path !== undefined && !path.includes("://") && !isIn(".", path);
}

export function shortened(command: string): string {
  return command.length > 60 ? `${command.slice(0, 60)} …` : command;
}
