/** Removing again what builds without cache have left in the store: an image for each step, and the last one. */

import type { Environment } from "../../../../io/world.ts";
import { runProgram } from "../program.ts";
import { findProgram } from "./find-podman-image.ts";

/** `--> 39bb9d9d015`: the step's own image. A step from the cache has more words. */
export function imageOfLine(line: string): string | null {
  return /^(?:\[\d+\/\d+\] )?--> ([0-9a-f]{11,64})$/.exec(line)?.[1] ?? null;
}

/**
 * Looks which images there are; the answer removes those of `built()` that were not, and that have no name.
 * `built` answers ids, or how they begin, in the order in which they were made.
 */
export async function createScratch(
  program: string,
  env: Environment,
  built: () => readonly string[],
  onLog: (line: string) => void,
): Promise<() => Promise<void>> {
  const before = new Set((await listImages(program, env)).map(({ id }) => id));
  return async () => {
    const left = async () => (await listImages(program, env)).filter(({ id }) => !before.has(id));
    const unnamed = (await left()).filter(({ names }) => names === 0);
    // Children before their parents.
    const starts = [...built()].reverse();
    const wanted = new Set(starts.flatMap((start) => unnamed.filter(({ id }) => id.startsWith(start))));
    let ids = [...wanted].map(({ id }) => id);
    while (ids.length > 0) {
      // Buildah removes parents without a name along with their last child, and has no flag against it.
      const now = program === "podman" ? ids : ids.slice(0, 1);
      const flags = program === "podman" ? ["--no-prune"] : [];
      const { status, lastLines } = await runProgram(program, ["rmi", ...flags, ...now], { env });
      if (status !== 0) onLog(`images of this build stay: ${lastLines.at(-1) ?? "no word of why"}`);
      const still = new Set((await left()).map(({ id }) => id));
      ids = ids.filter((id) => still.has(id) && !now.includes(id));
    }
  };
}

/** `sha256:…` of each. Throws `ENGINE_NOT_FOUND` where neither program is installed. */
export async function podmanIds(env: Environment): Promise<readonly string[]> {
  const { program } = await findProgram(env);
  return (await listImages(program, env)).map(({ id }) => `sha256:${id}`);
}

interface Listed {
  /** Without `sha256:`. */
  readonly id: string;
  readonly names: number;
}

async function listImages(program: string, env: Environment): Promise<readonly Listed[]> {
  const json = program === "podman" ? ["--format", "json"] : ["--json"];
  const { status, stdout } = await runProgram(program, ["images", "--all", "--no-trunc", ...json], { env });
  if (status !== 0 || stdout.trim() === "") return [];
  // Podman writes `Id` and `Names`, Buildah `id` and `names`; no images are `null`.
  type Raw = { readonly [key in "Id" | "id"]?: string } & {
    readonly [key in "Names" | "names"]?: readonly string[] | null;
  };
  return ((JSON.parse(stdout) ?? []) as readonly Raw[]).map((image) => ({
    id: (image.Id ?? image.id ?? "").replace(/^sha256:/, ""),
    names: (image.Names ?? image.names ?? []).length,
  }));
}
