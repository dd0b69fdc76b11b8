/** The image that Podman or Buildah mean by a name. */

import type { Environment } from "../../../../oci/engine/engine-endpoint.ts";
import { ImgmatchError } from "../../../../errors.ts";
import { type Digest, isDigest } from "../../../../oci/digest.ts";
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
