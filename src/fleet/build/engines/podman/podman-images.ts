/** Podman or Buildah, and the images in their store. */

import { ImgmatchError } from "../../../../errors.ts";
import { type Digest, isDigest } from "../../../../oci/digest.ts";
import type { Environment } from "../../../../io/world.ts";
import { lastLineOf, runProgram } from "../program.ts";

/** Podman, or Buildah where there is no other. */
export interface Podman {
  readonly program: string;
  readonly version: string;
  readonly env: Environment;
}

/** `name` may be an id. null where there is none. Throws `ENGINE_FAILED` where the program says neither. */
export async function findPodmanImage({ program, env }: Podman, name: string): Promise<Digest | null> {
  const inspect =
    program === "buildah"
      ? ["inspect", "--type", "image", "--format", "{{.FromImageID}}"]
      : ["image", "inspect", "--format", "{{.Id}}"];
  const { status, stdout, lastLines } = await runProgram(program, [...inspect, "--", name], { env });
  const id = `sha256:${stdout.trim().replace(/^sha256:/, "")}`;
  if (status === 0 && isDigest(id)) return id;
  const said = lastLineOf(lastLines);
  if (status !== 0 && /image not known|no such image|unable to find/i.test(said)) return null;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${program} does not tell what ${name} is: ${said}`,
  });
}

/** Throws `ENGINE_NOT_FOUND` when neither is installed. */
export async function findPodman(env: Environment): Promise<Podman> {
  for (const program of ["podman", "buildah"]) {
    try {
      const { status, stdout } = await runProgram(program, ["--version"], { env });
      if (status === 0) return { program, version: /version (\S+)/.exec(stdout)?.[1] ?? "?", env };
    } catch (error) {
      if (!(error instanceof ImgmatchError && error.code === "ENGINE_NOT_FOUND")) throw error;
    }
  }
  throw new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: "neither podman nor buildah is installed",
    fix: "apt-get install podman (or buildah), or use --engine docker",
  });
}

/** `--> 39bb9d9d015`: the step's own image. A step from the cache has more words. */
export function imageOfLine(line: string): string | null {
  return /^(?:\[\d+\/\d+\] )?--> ([0-9a-f]{11,64})$/.exec(line)?.[1] ?? null;
}

/**
 * Notes the images that there are. The answer removes those without a name that builds without cache have made since: one for each step.
 *
 * @param built gets their ids, or the beginnings of their ids, in the order of the builds
 */
export async function createScratch(
  podman: Podman,
  built: readonly string[],
  onLog: (line: string) => void,
): Promise<() => Promise<void>> {
  const { program, env } = podman;
  const before = new Set((await listImages(podman)).map(({ id }) => id));
  return async () => {
    const left = async () => (await listImages(podman)).filter(({ id }) => !before.has(id));
    const unnamed = (await left()).filter(({ names }) => names === 0);
    // Children before their parents.
    const starts = built.toReversed();
    const wanted = new Set(starts.flatMap((start) => unnamed.filter(({ id }) => id.startsWith(start))));
    let ids = [...wanted].map(({ id }) => id);
    while (ids.length > 0) {
      // Buildah removes parents without a name along with their last child, and has no flag against it.
      const now = program === "podman" ? ids : ids.slice(0, 1);
      const flags = program === "podman" ? ["--no-prune"] : [];
      const { status, lastLines } = await runProgram(program, ["rmi", ...flags, ...now], { env });
      if (status !== 0) onLog(`images of this build stay: ${lastLineOf(lastLines)}`);
      const still = new Set((await left()).map(({ id }) => id));
      ids = ids.filter((id) => still.has(id) && !now.includes(id));
    }
  };
}

interface Listed {
  /** Without `sha256:`. */
  readonly id: string;
  readonly names: number;
}

export async function listImages({ program, env }: Podman): Promise<readonly Listed[]> {
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
