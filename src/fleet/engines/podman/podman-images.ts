/** Podman or Buildah, and the images in their store. */

import { ImgmatchError } from "../../../errors.ts";
import { type Digest, isDigest } from "../../../oci/digest.ts";
import type { Environment } from "../../../io/world.ts";
import { lastLineOf, runProgram } from "../program.ts";

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

/** The ids of all images, `sha256:…`. */
export async function podmanImageIds({ program, env }: Podman): Promise<readonly string[]> {
  const { stdout } = await runProgram(program, ["images", "--all", "--no-trunc", "--quiet"], { env });
  return stdout
    .split("\n")
    .flatMap((line) => line.match(/[0-9a-f]{64}/) ?? [])
    .map((id) => `sha256:${id}`);
}
