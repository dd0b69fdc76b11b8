/** The docker command that builds: imgmatch hands it every build of a Docker Engine. */

import { mkdir, rm, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { DemoContext } from "./context.ts";
import { canInstall, installPackages } from "./packages.ts";
import { capture } from "./process.ts";

/** The path of the first docker command that is a client of BuildKit; null where none is. */
export async function findClient(env: NodeJS.ProcessEnv): Promise<string | null> {
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const docker = join(folder, "docker");
    const [, major] = /version (\d+)\./.exec((await capture([docker, "--version"], { env })).stdout) ?? [];
    if (major === undefined) continue;
    // BuildKit's client is a part of the command before 23, and the plug-in buildx from then on.
    if (Number(major) < 23) return docker;
    if ((await capture([docker, "buildx", "version"], { env })).status === 0) return docker;
  }
  return null;
}

/** The environment with a link to this docker command in `folder`, which is the first of its path. */
export async function withClient(
  env: NodeJS.ProcessEnv,
  docker: string,
  folder: string,
): Promise<NodeJS.ProcessEnv> {
  await mkdir(folder, { recursive: true });
  await rm(join(folder, "docker"), { force: true });
  await symlink(docker, join(folder, "docker"));
  return { ...env, PATH: `${folder}${delimiter}${env.PATH}` };
}

/** The environment in which imgmatch builds. Installs buildx on Debian and Ubuntu, and throws where no docker command can build. */
export async function buildEnv(context: DemoContext): Promise<NodeJS.ProcessEnv> {
  const { env } = context;
  let docker = await findClient(env);
  if (docker === null && (await canInstall())) {
    await installPackages("the docker command has no buildx", ["docker-buildx"], context);
    docker = await findClient(env);
  }
  if (docker === null)
    throw new Error(
      "no docker command builds here: install its plug-in buildx (package docker-buildx-plugin, or docker-buildx)",
    );
  return withClient(env, docker, join(context.keepDir, "bin"));
}
