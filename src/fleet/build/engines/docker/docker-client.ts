/** Finds the docker command that is a client of BuildKit: it hands over secrets and agents, and only those files that the engine lacks. */

import { versionAnswer } from "../../../../oci/engine/engine-answers.ts";
import type { DockerApi } from "../../../../oci/engine/api.ts";
import type { Environment } from "../../../../io/world.ts";
import { ImgmatchError } from "../../../../errors.ts";
import { type BuildClient, noAttestations } from "../docker-build.ts";
import { runProgram } from "../program.ts";
import type { BuildSecret, BuildSsh } from "../step-options.ts";

export type FoundClient =
  | { readonly client: BuildClient; readonly isBuildx: boolean }
  | { readonly client: null; readonly why: string };

/** From this release on docker's own client is buildx. */
const firstWithBuildx = 23;

const patienceMs = 15_000;

/** Asks the command itself: one that is too old or too new for the engine is none. */
export async function findClient(api: DockerApi, env: Environment): Promise<FoundClient> {
  const none = (why: string): FoundClient => ({ client: null, why });
  const { endpoint } = api;
  if (isPodman(await api.read("/version", versionAnswer)))
    return none(`Podman answers at ${endpoint.shown}, which has no BuildKit`);
  // imgmatch finds sockets that the command does not.
  const here = endpoint.source === "default" ? { DOCKER_HOST: endpoint.shown } : {};
  const own = { ...env, ...noAttestations, ...here };
  const format = "{{.Client.Version}} {{.Client.Context}}";
  const { status, stdout, words } = await ask(own, ["version", "--format", format]);
  const [, major, context] = /^(\d+)\.\S* (\S+)/.exec(stdout) ?? [];
  if (status !== 0 || context === undefined) return none(words);
  if (Number(major) < firstWithBuildx) {
    // After `docker buildx install`, `docker build` is buildx with the builder that was last used.
    const builtIn = { ...own, DOCKER_BUILDKIT: "1", BUILDX_BUILDER: context };
    return { client: { env: builtIn, command: ["build"] }, isBuildx: false };
  }
  if ((await ask(own, ["buildx", "version"])).status !== 0) return none("docker has no buildx here");
  const command = ["buildx", "build", "--builder", context];
  return { client: { env: own, command }, isBuildx: true };
}

/** It imitates the engine's API, without BuildKit. */
export function isPodman({ Components }: { readonly Components: readonly { readonly Name: string }[] }) {
  return Components.some(({ Name }) => /podman/i.test(Name));
}

interface Wishes {
  readonly secrets: readonly BuildSecret[];
  readonly ssh: readonly BuildSsh[];
  /** Give files that steps write the time of SOURCE_DATE_EPOCH. */
  readonly rewrites: boolean;
}

/** Throws `ENGINE_NOT_FOUND` for what no engine is told by its API alone. */
export function requireClient(found: FoundClient, { secrets, ssh, rewrites }: Wishes): void {
  const [what] = [
    ...(found.client === null && secrets.length > 0 ? ["--secret"] : []),
    ...(found.client === null && ssh.length > 0 ? ["--ssh"] : []),
    ...(rewrites && !(found.client !== null && found.isBuildx) ? ["SOURCE_DATE_EPOCH"] : []),
  ];
  if (what === undefined) return;
  throw new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: `${what} needs the docker command with buildx: ${found.client === null ? found.why : "this one is older than 23"}`,
    fix: `install docker's command and its buildx plugin (packages docker-cli or docker-ce-cli, docker-buildx or docker-buildx-plugin), or do without ${what}`,
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
