/** What the container engine of this machine says of itself. */

import { infoAnswer, versionAnswer } from "../docker/answers.ts";
import { connectDocker } from "../docker/api.ts";
import type { Environment } from "../docker/endpoint.ts";
import { findProgram } from "../io/find-program.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import type { EngineState } from "./diagnose.ts";

export async function readEngine(env: Environment): Promise<EngineState> {
  const configured = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
  const command = findProgram("docker", env);
  try {
    const api = await connectDocker(env);
    const { Version, Os, Arch } = await api.read("/version", versionAnswer);
    const { Runtimes } = await api.read("/info", infoAnswer);
    const platform = Os !== null && Arch !== null ? `${Os}/${Arch}` : null;
    return {
      configured,
      command,
      answer: {
        ok: true,
        name: `docker ${Version ?? `API ${api.version}`}`,
        shown: api.endpoint.shown,
        info: { platform, nvidiaRuntime: Object.hasOwn(Runtimes, "nvidia") },
      },
    };
  } catch (error) {
    return { configured, command, answer: { ok: false, problem: problemOf(error) } };
  }
}

function problemOf(error: unknown): Problem {
  if (error instanceof ImgmatchError) return error.problems[0];
  throw error;
}
