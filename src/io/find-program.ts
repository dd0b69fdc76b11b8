/** Where a program is that would be started by its name. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { attempt } from "./attempt.ts";

/** null where there is none in PATH. */
export function findProgram(name: string, env: Readonly<Record<string, string | undefined>>): string | null {
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => names.map((each) => join(folder, each))).find(isProgram) ?? null;
}

export function isProgram(path: string): boolean {
  return attempt(() => {
    accessSync(path, constants.X_OK);
    return true;
  }, false);
}
