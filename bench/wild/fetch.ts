/** Fetches and unpacks the packages of the corpus with their own clients, one by one. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { models, type Recorded, type WildPackage } from "./corpus.ts";

const cache =
  process.env.IMGMATCH_WILD ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "imgmatch-wild");

/** The folder of a package, whether fetched or not. */
export function rootOf({ name }: Pick<WildPackage, "name">): string {
  return join(cache, "roots", name.replaceAll("/", "+"));
}

export interface Fetched {
  /** The unpacked files. */
  readonly root: string;
  /** File → SHA-256, as {@link Recorded} has them. */
  readonly files: Recorded["files"];
}

/** The folder of an unpacked package; what is there is not fetched again. */
export function fetchPackage(each: WildPackage): Fetched {
  const name = each.name.replaceAll("/", "+");
  const [files, root] = [join(cache, "files", name), rootOf(each)];
  if (!existsSync(root)) {
    const made = `${root}.part`;
    for (const folder of [files, made]) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
    }
    if (each.build === null) {
      download[each.from as keyof typeof download](each, files);
      for (const file of readdirSync(files).sort()) unpack(join(files, file), made);
    } else
      execFileSync(join(import.meta.dirname, "build.sh"), [made, ...each.build.split(" ")], {
        stdio: ["ignore", "inherit", "inherit"],
      });
    renameSync(made, root);
  }
  const hashed = each.build === null ? files : root;
  const sums = readdirSync(hashed).sort();
  return { root, files: Object.fromEntries(sums.map((file) => [file, sha256(join(hashed, file))])) };
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

const machineOf = { "linux/amd64": "x86_64", "linux/arm64": "aarch64" } as const;

const download = {
  pypi({ packages, platform }: WildPackage, folder: string) {
    const machine = machineOf[platform];
    const tags = ["2_17", "2_24", "2_26", "2_27", "2_28", "2_31", "2_34", "2_35"].map(
      (glibc) => `--platform=manylinux_${glibc}_${machine}`,
    );
    const options = ["--no-deps", "--only-binary=:all:", `--platform=manylinux2014_${machine}`, ...tags];
    run("python3", ["-m", "pip", "-q", "download", ...options, "-d", folder, ...packages], folder);
  },
  npm({ packages }: WildPackage, folder: string) {
    run("npm", ["pack", "--silent", ...packages], folder);
  },
  /** With all that they depend on, as in an empty root folder. */
  debian({ packages, platform }: WildPackage, folder: string) {
    debianPackages(packages, platform.split("/")[1] ?? "", folder);
  },
} as const;

function debianPackages(packages: readonly string[], architecture: string, folder: string): void {
  const state = join(cache, "apt", architecture);
  mkdirSync(join(state, "lists/partial"), { recursive: true });
  mkdirSync(join(folder, "partial"), { recursive: true });
  const options = [
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    "APT::Sandbox::User=root",
    `Dir::State=${state}`,
    "Dir::State::status=/dev/null",
    `Dir::Cache=${state}`,
    `Dir::Cache::archives=${folder}`,
    "Dir::Etc::sourceparts=/dev/null",
    "Dir::Etc::sourcelist=/etc/apt/sources.list.d/debian.sources",
  ].flatMap((option) => ["-o", option]);
  if (readdirSync(join(state, "lists")).length < 3) run("apt-get", ["-q", ...options, "update"], folder);
  const install = ["install", "-qy", "--download-only", "--no-install-recommends"];
  run("apt-get", [...options, ...install, ...packages], folder);
  for (const left of ["partial", "lock"]) rmSync(join(folder, left), { recursive: true, force: true });
}

function unpack(file: string, root: string): void {
  if (file.endsWith(".whl")) run("python3", ["-m", "zipfile", "-e", file, root], root);
  else if (file.endsWith(".deb")) run("dpkg-deb", ["-x", file, root], root);
  else run("tar", ["-xf", file, "-C", root], root);
}

/** A root folder of Debian's Python for a foreign machine. */
export function foreignPython(): string {
  const root = join(cache, "roots", "python-arm64");
  if (existsSync(root)) return root;
  const files = join(cache, "files", "python-arm64");
  for (const folder of [files, `${root}.part`]) mkdirSync(folder, { recursive: true });
  debianPackages(["python3", "libstdc++6", "libgomp1", "zlib1g"], "arm64", files);
  for (const file of readdirSync(files)) unpack(join(files, file), `${root}.part`);
  renameSync(`${root}.part`, root);
  return root;
}

export const modelsOf = ({ platform }: WildPackage) => models.filter((model) => model.platform === platform);
