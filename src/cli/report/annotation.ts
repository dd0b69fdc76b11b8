/** Writes an error that GitHub Actions shows on the page of a run. Source: GitHub Actions, "Workflow commands". */

import { isAbsolute, relative, resolve } from "node:path";
import { type Place, type Problem, wholeMessage } from "../../errors.ts";
import type { World } from "../../io/world.ts";
import { mark } from "./terminal-text.ts";

/** Annotates the run of GitHub Actions, and writes nothing elsewhere. Its page shows ten errors of a step. */
export function annotate(
  problems: readonly Problem[],
  { env, cwd, err }: Pick<World, "env" | "cwd"> & { readonly err: (text: string) => void },
): void {
  if (env.GITHUB_ACTIONS !== "true") return;
  for (const problem of problems) {
    const { code, at } = problem;
    err(annotation(code, wholeMessage(problem), at && { ...at, file: inCheckout(at.file, cwd, env) }));
  }
}

/** GitHub takes a path from the root of the checkout, and imgmatch names it from its own folder. */
function inCheckout(file: string, cwd: string, { GITHUB_WORKSPACE: root }: World["env"]): string {
  if (!root) return file;
  const path = relative(root, resolve(cwd, file));
  return path.startsWith("..") || isAbsolute(path) ? file : path;
}

/** @param at a place in the repository */
export function annotation(title: string, message: string, at?: Place): string {
  const { file, line, column: col } = at ?? {};
  const properties = Object.entries({ file, line, col, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
  return `${mark("command")}error ${properties.join(",")}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
