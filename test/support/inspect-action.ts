/** The script of `.github/actions/inspect`, as a runner runs it. */

import { readFileSync } from "node:fs";
import { parse } from "yaml";

interface Action {
  readonly inputs: Readonly<Record<string, { readonly required?: boolean; readonly default?: string }>>;
  readonly runs: {
    readonly steps: readonly [{ readonly run: string; readonly env: Readonly<Record<string, string>> }];
  };
}

export const actionPath = ".github/actions/inspect/action.yml";
const { inputs, runs } = parse(readFileSync(actionPath, "utf8"), { schema: "failsafe" }) as Action;
const [step] = runs.steps;
export { inputs, step };

/** As GitHub's runners start `shell: bash`. */
export const shell: readonly string[] = ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run];

/** The script's environment for these inputs; defaults for the others. */
export function environmentOf(given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const named = Object.entries(step.env).map(([name, value]) => {
    const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1] ?? "";
    return [name, given[input] ?? inputs[input]?.default ?? ""];
  });
  return Object.fromEntries(named);
}
