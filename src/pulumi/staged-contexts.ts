/** Which staged contexts are in use, and the removal of those that are not: each is a whole copy of the build context. */

import { rmSync } from "node:fs";
import { lstat, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ignoring } from "../io/files.ts";
import { isLeft, ownedName } from "../io/owner.ts";

/** `<context>~<owner>`: a process that builds from the context. */
const mark = "~";
const partial = "-partial-";

const marks = new Set<string>();
process.once("exit", () => {
  for (const path of marks) rmSync(path, { force: true });
});

/** Says that this process builds from a context, until it calls the answer or ends. */
export async function useContext(contexts: string, name: string): Promise<() => void> {
  const path = join(contexts, `${name}${mark}${ownedName()}`);
  marks.add(path);
  await writeFile(path, "", { flag: "wx" });
  return () => {
    marks.delete(path);
    rmSync(path, { force: true });
  };
}

/**
 * Removes all contexts but this one and those that a living process uses, and what killed processes have left. An image that
 * a stack keeps has the inputs of now, so the context of now: no stack needs an older one.
 */
export async function removeUnused(contexts: string, current: string): Promise<void> {
  const names = await readdir(contexts);
  const used = new Set([current]);
  for (const name of names.filter((each) => each.includes(mark))) {
    const path = join(contexts, name);
    const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: 0 }));
    if (isLeft(name, mtimeMs)) await rm(path, { force: true });
    else used.add(name.slice(0, name.indexOf(mark)));
  }
  for (const name of names.filter((each) => !each.includes(mark))) {
    // `<digest>` or `<digest>-<seconds>`, and while it is made `…-partial-<random>`.
    const [digest = ""] = name.split("-");
    if (used.has(digest)) continue;
    // Out of the way first: who still reads it must find nothing rather than a part.
    const gone = join(contexts, `${digest}${partial}${ownedName()}`);
    await rename(join(contexts, name), gone).catch(ignoring("ENOENT"));
    await rm(gone, { recursive: true, force: true });
  }
}
