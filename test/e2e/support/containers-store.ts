/** Podman or Buildah alone, with a store of its own. */

import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface ContainersStore {
  readonly env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

/** null where it is installed, else what to install. */
export function whyNoProgram(program: string): string | null {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return null;
  } catch {
    return `${program} is not installed (apt-get install ${program})`;
  }
}

/** imgmatch takes Podman where there are both: so `PATH` has one of them, and node. */
export async function isolateStore(program: string, env: NodeJS.ProcessEnv): Promise<ContainersStore> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-store-"));
  const store = join(folder, "storage.conf");
  const paths = `graphroot = "${join(folder, "graph")}"\nrunroot = "${join(folder, "run")}"`;
  // No overlay on overlay is needed this way.
  await writeFile(store, `[storage]\ndriver = "vfs"\n${paths}\n`);
  // Containers run where limits cannot be raised, and need no network.
  const conf = join(folder, "containers.conf");
  await writeFile(
    conf,
    '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\nnetns = "none"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
  );
  const bin = join(folder, "bin");
  await mkdir(bin);
  for (const name of [program, "git"]) {
    const path = execFileSync("sh", ["-c", `command -v ${name} || true`], { encoding: "utf8" }).trim();
    if (path !== "") await symlink(path, join(bin, name));
  }
  return {
    // And no user namespaces this way.
    env: {
      ...env,
      PATH: bin,
      CONTAINERS_STORAGE_CONF: store,
      CONTAINERS_CONF: conf,
      BUILDAH_ISOLATION: "chroot",
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
