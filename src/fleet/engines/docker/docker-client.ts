/** Finds the docker command that is a client of BuildKit: it hands over secrets and agents, and only those files that the engine lacks. */

import { versionAnswer } from "../../../oci/engine/engine-answers.ts";
import type { DockerApi } from "../../../oci/engine/api.ts";
import type { Environment } from "../../../io/world.ts";
import { ImgmatchError } from "../../../errors.ts";
import { type BuildClient, noAttestations } from "../docker-build.ts";
import { runProgram } from "../program.ts";

/** From this release on docker's own client is buildx. */
const firstWithBuildx = 23;

const patienceMs = 15_000;

/**
 * Asks the command itself: one that is too old or too new for the engine builds nothing there. Throws `ENGINE_NOT_FOUND`.
 *
 * @param rewrites files that steps write get the time of SOURCE_DATE_EPOCH
 */
export async function findClient(api: DockerApi, env: Environment, rewrites: boolean): Promise<BuildClient> {
  const { endpoint } = api;
  const { Components } = await api.read("/version", versionAnswer);
  if (Components.some(({ Name }) => /podman/i.test(Name))) {
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: `Podman answers at ${endpoint.shown}: its imitation of Docker's API has no BuildKit`,
      fix: "build with --engine podman",
    });
  }
  // imgmatch finds sockets that the command does not.
  const here = endpoint.source === "default" ? { DOCKER_HOST: endpoint.shown } : {};
  const own = { ...env, ...noAttestations, ...here };
  const format = "{{.Client.Version}} {{.Client.Context}}";
  const { status, stdout, words } = await ask(own, ["version", "--format", format]);
  const [, major, context] = /^(\d+)\.\S* (\S+)/.exec(stdout) ?? [];
  if (status !== 0 || context === undefined) throw noClient("--engine docker", words);
  if (Number(major) < firstWithBuildx) {
    if (rewrites) throw noClient("SOURCE_DATE_EPOCH", `this one is older than ${firstWithBuildx}`);
    // After `docker buildx install`, `docker build` is buildx with the builder that was last used.
    return { env: { ...own, DOCKER_BUILDKIT: "1", BUILDX_BUILDER: context }, command: ["build"] };
  }
  if ((await ask(own, ["buildx", "version"])).status !== 0)
    throw noClient("--engine docker", "docker has no buildx here");
  return { env: own, command: ["buildx", "build", "--builder", context] };
}

function noClient(what: string, why: string): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: `${what} needs the docker command with buildx: ${why}`,
    fix: "install docker's command and its buildx plugin (packages docker-cli or docker-ce-cli, docker-buildx or docker-buildx-plugin)",
  });
}

async function ask(env: Environment, args: readonly string[]) {
  try {
    const { status, stdout, lastLines } = await runProgram("docker", args, { env, timeoutMs: patienceMs });
    const [words = ""] = lastLines.filter((line) => line.trim() !== "");
    return { status, stdout, words: `docker ${args[0]} says: ${words}` };
  } catch (error) {
    if (error instanceof ImgmatchError) return { status: null, stdout: "", words: error.message };
    throw error;
  }
}
