/** Which of the two programs is installed. */

import type { Environment } from "../../../../oci/engine/engine-endpoint.ts";
import { ImgmatchError } from "../../../../errors.ts";
import { runProgram } from "../program.ts";

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
