/** Programs that the demo needs, and their packages on Debian and Ubuntu. */

import { access, constants, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { DemoContext } from "./context.ts";
import { must } from "./process.ts";

/** Program → package. */
const packageOf = {
  docker: "docker.io",
  dockerd: "docker.io",
  ip: "iproute2",
  "docker-registry": "docker-registry",
  debootstrap: "debootstrap",
  pip3: "python3-pip",
} as const satisfies Record<string, string>;

export type Program = keyof typeof packageOf;

/** Looks for a program in the path, and in the system's folders that a user's path may leave out. */
export async function hasProgram(name: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const folders = [...(env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  for (const folder of folders) {
    const found = await access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

/** True where packages can be installed: on Debian or Ubuntu, as root. */
export async function canInstall(): Promise<boolean> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release);
}

/** Installs the packages of the programs that are missing, says so, and answers whether all are there afterwards. */
export async function needPrograms(programs: readonly Program[], context: DemoContext): Promise<boolean> {
  const missing: Program[] = [];
  for (const program of programs) if (!(await hasProgram(program, context.env))) missing.push(program);
  if (missing.length === 0) return true;
  if (!(await canInstall())) return false;

  const packages = [...new Set(missing.map((program) => packageOf[program]))];
  await installPackages(`${missing.join(", ")} not found`, packages, context);
  return true;
}

/** Installs packages, where {@link canInstall} says so. */
export async function installPackages(
  why: string,
  packages: readonly string[],
  context: DemoContext,
): Promise<void> {
  context.say.line(`${why}: installing ${packages.join(", ")} with apt-get, which stays installed`);
  await withoutServices(async () => {
    const options = { signal: context.signal, env: { ...context.env, DEBIAN_FRONTEND: "noninteractive" } };
    await must(["apt-get", "update", "-q"], options);
    await must(["apt-get", "install", "-q", "-y", "--no-install-recommends", ...packages], options);
  });
  for (const name of packages)
    context.left.add(`package ${name} (apt-get autoremove --purge ${name} removes it)`);
}

/**
 * Packages of services start them when installed. This file tells them not to (Debian policy, 9.3.3.2):
 * the demo starts its own, on its own socket, and stops it at the end.
 */
async function withoutServices(install: () => Promise<void>): Promise<void> {
  const policy = "/usr/sbin/policy-rc.d";
  const written = await writeFile(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755, flag: "wx" }).then(
    () => true,
    () => false,
  );
  try {
    await install();
  } finally {
    if (written) await rm(policy, { force: true });
  }
}
