/** Completion in the shells themselves: each loads its script, and asks for the words at the end of a line. */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

const cli = resolve("dist/cli.cjs");
const bin = makeFolder({ imgmatch: `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n` });
chmodSync(`${bin}/imgmatch`, 0o755);
const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };

/**
 * A program that prints the words which a shell suggests for the line in $LINE, one a line.
 * Fish and zsh answer at a prompt alone, so that functions stand for their line editors.
 */
const ask = {
  bash: `source <(imgmatch completion bash)
    read -ra COMP_WORDS <<<"$LINE"; [[ $LINE == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)) COMP_LINE=$LINE COMP_POINT=\${#LINE}
    _imgmatch_completion; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { }; _files() { print files }; _describe() { print -l -- "\${reply[@]%%[^\\\\]:*}" }
    source <(imgmatch completion zsh)
    words=("\${(@s: :)LINE}"); CURRENT=$#words BUFFER=$LINE CURSOR=$#LINE
    _describe() { for each in $reply; do print -- "\${\${each//\\\\:/@}%%:*}"; done }
    _imgmatch_completion`,
  fish: `function commandline; set -l words (string split ' ' "$LINE"); switch $argv; case -opc; string join -- \\n $words[1..-2]; case -ct; echo $words[-1]; end; end
    function __fish_complete_path; echo files; end
    imgmatch completion fish | source
    _imgmatch_completion | string replace -r '\\t.*' ''`,
} as const;

const lines: Readonly<Record<string, readonly string[]>> = {
  "imgmatch pl": ["plan"],
  "imgmatch check x --host-type p5e": ["p5e.48xlarge", "p5en.48xlarge"],
  "imgmatch launch --task ": ["batch", "service"],
};

const whyNoProgram = existsSync(cli) ? null : "no dist (npm run build)";
for (const shell of ["bash", "zsh", "fish"] as const) {
  const why = whyNot(shell, ["-c", "true"], { install: `apt-get install ${shell}` });
  test(`in ${shell}`, needs(why ?? whyNoProgram), () => {
    for (const [line, words] of Object.entries(lines)) {
      const said = execFileSync(shell, ["-c", ask[shell]], { encoding: "utf8", env: { ...env, LINE: line } });
      expect(said.trim().split("\n"), line).toEqual(words);
    }
  });
}

test("suggests paths where a path may stand, and words that only their command knows", async () => {
  const suggested = async (...words: string[]) => {
    const { out } = await runInProcess(["completion-server", "--", "imgmatch", ...words], {
      env: { SHELL: "zsh", COMP_CWORD: String(words.length) },
    });
    return out.trim();
  };
  expect(await suggested("lo")).toBe("lock:Change the lock without building");
  expect(await suggested("check", "--host-ty")).toMatch(/^--host-type:/);
  expect(await suggested("launch", "kub")).toBe("kubernetes");
  expect(await suggested("hardware", "")).toBe("cuda\nrocm\ngpu\ncpu\nmachine");
  expect(await suggested("completion", "")).toBe("bash\nzsh\nfish");
  const paths = "__imgmatch_paths__";
  expect(await suggested("check", "dist/a")).toBe(paths);
  expect(await suggested("check", "--host", "")).toBe(paths);
  expect(await suggested("check", "--host=")).toBe(paths);
  expect(await suggested("run", "--", "-v")).toBe(paths);
  expect(await suggested("build", "--name", "")).toBe("");
  expect(await suggested("schema", "")).toBe("");
  expect(await suggested("cover", "--catalog=a")).toBe("--catalog=aws\n--catalog=azure");
  // Options of the command above count below it.
  expect(await suggested("lock", "merge", "--js")).toBe("--json:Answer as JSON, errors included");
});
