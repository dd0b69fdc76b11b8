/** Runs the commands of a `console` block in bash and compares what they print with what the page shows. */

import { spawnSync } from "node:child_process";

export interface Step {
  readonly command: string;
  /** The output that the page shows below the command. */
  readonly shown: readonly string[];
}

/** `$ command` lines, each with the output below it; a command goes on after `\` at the end of a line, behind `> `. */
export function stepsOf(block: string): readonly Step[] {
  const steps: { command: string; shown: string[] }[] = [];
  for (const line of block.split("\n")) {
    const last = steps.at(-1);
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2), shown: [] });
    else if (line.startsWith("> ") && last?.command.endsWith("\\") && last.shown.length === 0)
      last.command += `\n${line.slice(2)}`;
    else last?.shown.push(line);
  }
  return steps;
}

/** The lines that each command prints, on standard output and standard error together. */
export function runSteps(
  steps: readonly Step[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  timeout = 60_000,
): readonly string[][] {
  const mark = "end of the output of a step";
  // `$?` of the next command is that of this one, as on a terminal.
  const script = steps
    .map(({ command }) => `{ ${command}\n}\nstatus=$?; printf '\\n%s\\n' '${mark}'; (exit $status)`)
    .join("\n");
  const ran = spawnSync("bash", ["-c", `exec 2>&1\n${script}`], {
    cwd,
    env,
    encoding: "utf8",
    timeout,
  });
  if (ran.error) throw ran.error;
  return ran.stdout
    .split(`\n${mark}\n`)
    .slice(0, steps.length)
    .map((text) => text.replace(/\n$/, "").split("\n"))
    .map((lines) => (lines.length === 1 && lines[0] === "" ? [] : lines));
}

/** Compares the page with an output: `…` in a line stands for any text, `…` alone on a line for any lines. */
export function isShown(shown: readonly string[], printed: readonly string[]): boolean {
  const pattern = shown
    .map((line) => (/^\s*…$/.test(line) ? "(?:.*\n)*" : `${line.split("…").map(literal).join(".*")}\n`))
    .join("");
  return new RegExp(`^${pattern}$`).test(printed.map((line) => `${line}\n`).join(""));
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
