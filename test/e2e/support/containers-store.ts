/** Podman or Buildah alone, with a store of its own. */

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoVersion, tryOnce, doesNotWork } from "../../support/programs.ts";

export interface ContainersStore {
  readonly env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

/** A container of one program, without an image. */
const tries = {
  podman: 'podman run --rm --rootfs "$PWD/root" /bin/busybox true',
  buildah:
    'name=$(buildah from scratch) && buildah copy "$name" root / && buildah run "$name" /bin/busybox true && buildah rm "$name"',
  skopeo: "echo {} >manifest.json && skopeo manifest-digest manifest.json",
} as const;

export type StoreProgram = keyof typeof tries;

/** null where it has done its simplest work, else the reason. */
export function whyNoProgram(program: StoreProgram): string | null {
  const missing = whyNoVersion(program);
  if (missing !== null) return missing;
  const tried = tryOnce(`${program} runs ${process.env.PATH}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-tried-"));
    try {
      mkdirSync(join(folder, "root/bin"), { recursive: true });
      if (existsSync("/bin/busybox")) copyFileSync("/bin/busybox", join(folder, "root/bin/busybox"));
      writeConfiguration(folder);
      const env = { ...process.env, ...storeIn(folder) };
      const ran = spawnSync("sh", ["-ec", tries[program]], {
        cwd: folder,
        env,
        encoding: "utf8",
        timeout: 60_000,
      });
      if (ran.status === 0) return { works: true, said: ran.stdout };
      return { works: false, why: doesNotWork(program, ran.stderr || `status ${ran.status ?? ran.signal}`) };
    } finally {
      try {
        rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      } catch {
        // Podman still writes what its container has left: the folder stays, and says nothing about the program.
      }
    }
  });
  return tried.works ? null : tried.why;
}

/** No overlay on overlay is needed this way; containers run where limits cannot be raised, and need no network. */
function writeConfiguration(folder: string): void {
  const paths = `graphroot = "${join(folder, "graph")}"\nrunroot = "${join(folder, "run")}"`;
  writeFileSync(join(folder, "storage.conf"), `[storage]\ndriver = "vfs"\n${paths}\n`);
  writeFileSync(
    join(folder, "containers.conf"),
    '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\nnetns = "none"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
  );
}

/** No user namespaces are needed this way. */
function storeIn(folder: string): Readonly<Record<string, string>> {
  return {
    CONTAINERS_STORAGE_CONF: join(folder, "storage.conf"),
    CONTAINERS_CONF: join(folder, "containers.conf"),
    BUILDAH_ISOLATION: "chroot",
  };
}

/** imgmatch takes Podman where there are both: so `PATH` has one of them, and node. */
export async function isolateStore(program: string, env: NodeJS.ProcessEnv): Promise<ContainersStore> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-store-"));
  writeConfiguration(folder);
  const bin = join(folder, "bin");
  await mkdir(bin);
  for (const name of [program, "git"]) {
    const path = execFileSync("sh", ["-c", `command -v ${name} || true`], { encoding: "utf8" }).trim();
    if (path !== "") await symlink(path, join(bin, name));
  }
  return {
    env: { ...env, PATH: bin, ...storeIn(folder) },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
