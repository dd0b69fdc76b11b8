/** What the steps of a job have done to the files of the repository before a build. Pure. */

import { posix } from "node:path";
import { fieldsOf } from "../../io/json.ts";
import type { OriginalBuild } from "./original-build.ts";
import type { ShellCommand } from "./shell-words.ts";
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
  /^(\[\[?|awk|cat|cmp|diff|docker|echo|egrep|find|git|grep|hadolint|head|less|ls|md5sum|podman|printf|sha256sum|stat|tail|test|wc)$/;

/** True for a command that names the file, unless it certainly only reads. */
function mayChange({ words, written }: ShellCommand, name: string): boolean {
  if (!written.includes(name)) return false;
  const [program] = words;
  if (program !== undefined && readers.test(program.text) && !written.includes(">")) return false;
  return written.split(/[\s"'=<>]+/).some((word) => posix.basename(word) === name);
}

function isIn(folder: string, path: string): boolean {
  const own = posix.normalize(path);
  if (/^(\/|~|\.\.)|[$`]/.test(own)) return false;
  return posix.normalize(folder) === "." || `${own}/`.startsWith(`${posix.normalize(folder)}/`);
}

const writers = /^(cp|curl|git|install|ln|mv|patch|rsync|sed|tar|tee|unzip|wget)$/;
const writing: Readonly<Record<string, RegExp>> = {
  curl: /\s(-\w*[oO]|--output|--remote-name)\b/,
  git: /\s(apply|am|submodule|lfs|clone)\b/,
  sed: /\s(-\w*i|--in-place)/,
  tar: /\s(-?\w*x|--extract|--get)/,
};

/** True for a command that certainly writes files, one of them into the folder. */
function fills({ words, written }: ShellCommand, folder: string): boolean {
  const [program, ...others] = words;
  const name = program?.text ?? "";
  const [, target] = /(?:^|[^>&\d])>>?\s*([^\s>&|;"']+)/.exec(written) ?? [];
  if (target !== undefined && isIn(folder, target)) return true;
  if (!writers.test(name) || writing[name]?.test(written) === false) return false;
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
