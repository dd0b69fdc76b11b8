/** Completion at a real prompt of each shell: TAB runs nothing that somebody typed, or named a file. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoPython, whyNot } from "../support/programs.ts";

const cli = resolve("dist/cli.cjs");

/** Each would make the file X. */
const typed = [
  "'./;touch X;.whl",
  "'./;touch X;.whl'",
  '"./;touch X;.whl',
  "./\\;touch\\ X\\;.whl",
  "'\"; touch X; \"'",
  "'./;touch X;.whl' ",
  "$(touch X).whl",
  "'$(touch X).whl",
  '"$(touch X).whl',
  "\\$\\(touch\\ X\\).whl",
  "(touch X).whl",
  "$(touch X)/",
  "'$(touch X)/",
  '"$(touch X)/',
  "${:-\\$(touch X)}/",
  "`touch X`.whl",
  "'`touch X`.whl",
  '"`touch X`/',
  "--host=$(touch X)",
];
const names = [";touch X;.whl", "$(touch X).whl", "`touch X`.whl", "a b&(touch X).whl"];

interface Shell {
  /** How it starts with this text as its only settings, which are in `rc` of the folder. */
  readonly words: (folder: string) => readonly string[];
  readonly settings: string;
  /** What begins a word in quotes whose path the shell completes. */
  readonly quotes: readonly string[];
}

const shells = {
  bash: {
    words: (folder) => ["bash", "--noprofile", "--rcfile", `${folder}/rc/.zshrc`, "-i"],
    settings: "PS1='> '; source <(imgmatch completion bash); PROMPT_COMMAND=': > ready'",
    quotes: ["", "'", '"'],
  },
  zsh: {
    words: () => ["zsh", "-i"],
    // By default TAB expands a word before it completes, for every program.
    settings: `PS1='> '; autoload -U compinit; compinit -u -D; bindkey '^I' complete-word
      source <(imgmatch completion zsh); precmd() { : > ready }`,
    quotes: ["", "'", '"'],
  },
  fish: {
    words: (folder) => ["fish", "--no-config", "-i", "-C", `source ${folder}/rc/.zshrc`],
    settings: "imgmatch completion fish | source; function fish_prompt; touch ready; echo '> '; end",
    quotes: [""],
  },
} as const satisfies Record<string, Shell>;

describe.each(Object.entries<Shell>(shells))("in %s", (shell, { words, settings, quotes }) => {
  const why =
    whyNot(shell, ["-c", "true"], { install: `apt-get install ${shell}` }) ??
    whyNoPython("pty") ??
    (existsSync(cli) ? null : "no dist (npm run build)");

  /** Types each text. The folder afterwards, and what the program was given by its lines. */
  function type(texts: readonly string[], files: readonly string[] = []) {
    const folder = makeFolder({
      "rc/.zshrc": settings,
      taken: "",
      "bin/imgmatch": `#!/bin/sh
        case $1 in
          completion*) echo "$1" >>"$FOLDER/asked"; exec "${process.execPath}" "${cli}" "$@" ;;
        esac
        printf '%s\\n' "$*" >>"$FOLDER/taken"
`,
      ...Object.fromEntries(files.map((file, at) => [`${at}/${file}`, ""])),
    });
    chmodSync(join(folder, "bin/imgmatch"), 0o755);
    const steps = texts.map((text, at) => [`${text}\x15: > done${at}\r`, `done${at}`]);
    const { status, stderr } = spawnSync("python3", [resolve("test/cli/support/prompt.py")], {
      cwd: folder,
      encoding: "utf8",
      input: JSON.stringify({ shell: words(folder), steps: [["", "ready"], ...steps], mostSeconds: 100 }),
      env: {
        ...{ FOLDER: folder, HOME: folder, ZDOTDIR: join(folder, "rc"), TERM: "dumb", LC_ALL: "C.UTF-8" },
        PATH: `${join(folder, "bin")}:${process.env.PATH}`,
      },
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const linesOf = (name: string) => readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1);
    return { asked: linesOf("asked"), taken: linesOf("taken"), ran: existsSync(join(folder, "X")) };
  }

  // On a busy machine a shell may leave out all TABs but one: then once more.
  const often = { timeout: 240_000, retry: 2 };

  test("completes a command, and evaluates no typed word", { ...needs(why), ...often }, () => {
    const { asked, taken, ran } = type([
      "imgmatch pl\t\r",
      ...typed.map((word) => `imgmatch check ${word}\t`),
    ]);
    expect(taken).toEqual(["plan"]);
    // A shell may leave a TAB out that more text follows at once.
    expect(asked.filter((word) => word === "completion-server").length).toBeGreaterThan(1);
    expect(ran).toBe(false);
  });

  test("completes a file's name to a word that is this name", { ...needs(why), timeout: 240_000 }, () => {
    const lines = quotes.flatMap((quote) => names.map((_, at) => `imgmatch check ${quote}./${at}/\t\r`));
    const { taken, ran } = type(lines, names);
    expect(taken).toEqual(quotes.flatMap(() => names.map((name, at) => `check ./${at}/${name}`)));
    expect(ran).toBe(false);
  });
});
