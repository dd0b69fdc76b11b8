/** What the container engine of this machine says of itself. */

import { connectDocker } from "../docker/api.ts";
import type { Environment } from "../docker/endpoint.ts";
import { findProgram } from "../io/find-program.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import { fieldsOf } from "../input/json.ts";
import type { EngineState } from "./diagnose.ts";

export async function readEngine(env: Environment): Promise<EngineState> {
  const configured = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
  const command = findProgram("docker", env);
  try {
    const api = await connectDocker(env);
    const [version, info] = [await api.json("GET", "/version"), await api.json("GET", "/info")];
    const { Version, Os, Arch } = fieldsOf(version);
    const { Runtimes } = fieldsOf(info);
    const platform = typeof Os === "string" && typeof Arch === "string" ? `${Os}/${Arch}` : null;
    return {
      configured,
      command,
      answer: {
        ok: true,
        name: `docker ${typeof Version === "string" ? Version : `API ${api.version}`}`,
        shown: api.endpoint.shown,
        info: { platform, nvidiaRuntime: Object.hasOwn(fieldsOf(Runtimes), "nvidia") },
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
