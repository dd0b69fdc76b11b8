/** Root file systems made from the distribution's packages with debootstrap, kept as tarballs for the next run. */

import { chmod, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DemoContext } from "./context.ts";
import { type Distribution, readDistribution } from "./mirror.ts";
import { removeTree } from "./mounts.ts";
import { needPrograms } from "./packages.ts";
import { capture, must } from "./process.ts";

export interface Rootfs {
  /** A compressed tarball. */
  readonly path: string;
  /** For example `debian-trixie-amd64`. */
  readonly system: string;
}

/** Files that an image does not need, as slim images leave them out. */
const left = ["./dev/*", "./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*", "./tmp/*"];
const unread = ["doc", "man", "info", "locale", "lintian"].map((name) => `./usr/share/${name}/*`);

export interface RootfsSpec {
  /** Tells one from another among the tarballs. */
  readonly name: string;
  /** Beside the distribution's minimum. */
  readonly packages: readonly string[];
}

/**
 * Minimal systems for the processor of this machine, all of one release, in the order of `specs`.
 * Empty where debootstrap cannot be had: not Debian or Ubuntu, or not root.
 */
export async function makeRootfs(
  specs: readonly RootfsSpec[],
  context: DemoContext,
): Promise<readonly Rootfs[]> {
  const own = await readDistribution();
  const architecture = { x64: "amd64", arm64: "arm64" }[process.arch as string];
  if (own === null || architecture === undefined || process.getuid?.() !== 0) return [];
  const folder = join(context.keepDir, "bases");
  const all = (suite: string) =>
    specs.map(({ name }): Rootfs => {
      const system = `${own.id}-${suite}-${architecture}`;
      return { system, path: join(folder, `${system}-${name}.tar.gz`) };
    });

  for (const suite of suites(own)) {
    const kept = all(suite);
    if ((await Promise.all(kept.map(({ path }) => exists(path)))).every(Boolean)) return kept;
  }
  if (!(await needPrograms(["debootstrap"], context))) return [];
  await mkdir(folder, { recursive: true });
  const suite = await newestServed(own, context);
  const made = all(suite);
  context.left.add(`${folder} (root file systems, so that the next run is quick)`);
  // Side by side: unpacking packages keeps one core busy.
  await Promise.all(
    made.map(async ({ path, system }, at) => {
      const packages = specs[at]?.packages ?? [];
      if (await exists(path)) return;
      context.say.line(`debootstrap: ${system}, ${["its minimum", ...packages].join(" and ")}`);
      await bootstrap({ suite, mirror: own.mirror, packages, path }, context);
    }),
  );
  return made;
}

async function bootstrap(
  {
    suite,
    mirror,
    packages,
    path,
  }: { suite: string; mirror: string; packages: readonly string[]; path: string },
  { undo, signal, env }: DemoContext,
): Promise<void> {
  const tree = await mkdtemp(join(tmpdir(), "imgmatch-rootfs-"));
  undo.add("a half-made root file system", () => removeTree(tree));
  // It becomes the image's root folder, which every user must be able to enter.
  await chmod(tree, 0o755);
  const options = { signal, env: { ...env, PATH: `${env.PATH}:/usr/sbin:/sbin` } };
  const include = packages.length === 0 ? [] : [`--include=${packages.join(",")}`];
  await must(["debootstrap", "--variant=minbase", ...include, suite, tree, mirror], options);
  const exclude = [...left, ...unread].map((pattern) => `--exclude=${pattern}`);
  const part = `${path}.${process.pid}.part`;
  undo.add("a half-written tarball", () => rm(part, { force: true }));
  const pack = ["--numeric-owner", "--sort=name", ...exclude, "-I", "gzip -1", "-cf", part, "."];
  await must(["tar", "-C", tree, ...pack], options);
  await rename(part, path);
  await removeTree(tree);
}

/** The release whose compiler is that of the matrix's own base first; any newer than this machine's is as good. */
function suites({ id, suite }: Distribution): readonly string[] {
  return id === "debian" && suite !== "trixie" ? ["trixie", suite] : [suite];
}

async function newestServed(distribution: Distribution, { signal }: DemoContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-release-"));
  try {
    for (const suite of suites(distribution)) {
      if (suite === distribution.suite || !(await exists(`/usr/share/debootstrap/scripts/${suite}`)))
        continue;
      // apt's own downloader knows the machine's proxies and certificates.
      const url = `${distribution.mirror.replace(/\/$/, "")}/dists/${suite}/Release`;
      const probe = ["/usr/lib/apt/apt-helper", "download-file", url, join(folder, "Release")] as const;
      if ((await capture(probe, { signal, timeoutMs: 30_000 })).status === 0) return suite;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return distribution.suite;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
