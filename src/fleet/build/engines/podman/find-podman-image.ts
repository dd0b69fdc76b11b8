/** The image that Podman or Buildah mean by a name. */

import { ImgmatchError } from "../../../../errors.ts";
import { type Digest, isDigest } from "../../../../oci/digest.ts";
import type { Environment } from "../../../../io/world.ts";
import { runProgram } from "../program.ts";

/** `name` may be an id. null where there is none. Throws `ENGINE_FAILED` where the program says neither. */
export async function findPodmanImage(
  program: string,
  env: Environment,
  name: string,
): Promise<Digest | null> {
  const inspect =
    program === "buildah"
      ? ["inspect", "--type", "image", "--format", "{{.FromImageID}}"]
      : ["image", "inspect", "--format", "{{.Id}}"];
  const { status, stdout, lastLines } = await runProgram(program, [...inspect, "--", name], { env });
  const id = `sha256:${stdout.trim().replace(/^sha256:/, "")}`;
  if (status === 0 && isDigest(id)) return id;
  const said = lastLines.findLast((line) => line.trim() !== "") ?? "no word of it";
  if (status !== 0 && /image not known|no such image|unable to find/i.test(said)) return null;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${program} does not tell what ${name} is: ${said}`,
  });
}

/** Podman where there are both. Throws `ENGINE_NOT_FOUND` when neither is installed. */
export async function findProgram(env: Environment): Promise<{ program: string; version: string }> {
  for (const program of ["podman", "buildah"]) {
    try {
      const { status, stdout } = await runProgram(program, ["--version"], { env });
      if (status === 0) return { program, version: /version (\S+)/.exec(stdout)?.[1] ?? "?" };
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
