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
}

export function checkOut(given: unknown, contexts: Contexts, { repositories }: JobFiles): void {
  const { repository, path } = fieldsOf(given);
  const written = String(repository ?? "").trim();
  const isOwn = written === "" || /^\$\{\{\s*github\.repository\s*\}\}$/.test(written);
  const folder = textWith(String(path ?? "."), contexts) ?? ".";
  repositories.set(posix.normalize(folder).replace(/\/$/, ""), isOwn ? null : written);
}

/** The build with what the steps before it have changed. */
export function asFound(build: OriginalBuild, { commands, repositories }: JobFiles): OriginalBuild {
  const { dockerfile, context, contexts } = build;
  const [other = null] = [dockerfile, context, ...Object.values(contexts)].flatMap((path) => {
    const holders = [...repositories].filter(
      ([folder]) => folder === "." || `${path}/`.startsWith(`${folder}/`),
    );
    const [, repository = null] = holders.sort(([one], [two]) => two.length - one.length)[0] ?? [];
    return repository === null ? [] : [`${path} is of the repository ${repository}, which a step checks out`];
  });
  const changing = commands.find((command) => mayChange(command, posix.basename(dockerfile)));
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

export function shortened(command: string): string {
  return command.length > 60 ? `${command.slice(0, 60)} …` : command;
}
