/** Tells by a path which package a file belongs to, and whether it is named for an architecture. A name is a claim: the file's header decides. */

import { basename, dirname } from "node:path";
import type { InstalledWheel } from "./unchanged-files.ts";

const systems = "linux|android|freebsd|openbsd|netbsd|sunos";
/** As npm, Python, Debian, Java and Go call the architectures that they publish for. */
const machines = [
  "x86[-_]?64|amd64|x64|x86(?:[-_]32)?|ia32|i[3-6]86|386",
  "aarch[-_]?64|arm64(?:[-_]?v8a?)?|arm64v8|armeabi(?:[-_]v7a)?|arm(?:hf|el|v[5-8]\\w*)?",
  "ppc64(?:le|el)?|powerpc64(?:le)?|s390x|riscv64\\w*|loong(?:arch)?64|mips\\w*|sbsa",
].join("|");
/** `linux-x64-gnu`, `linuxmusl-arm64`, `linux64`, `aarch64-linux-gnu`, `x86`. */
const platformWord = new RegExp(
  `(?<![a-z0-9])(?:(?:${systems})(?:musl|gnu)?[-_]?(?:${machines}|64|32)|${machines})(?:[-_]linux)?(?:[-_](?:gnu|musl|glibc)\\w*)?(?![a-z0-9])`,
  "gi",
);
/** `android-arm64`, `Android/aarch64`. */
const otherSystem = new RegExp(
  `(?<![a-z0-9])(${systems.replace("linux|", "")})[-_/]?(?:${machines})(?![a-z0-9])`,
  "i",
);

/** A package of a path. Packages that are named alike but for their platforms are one. */
export interface PackagePath {
  /** `/node_modules/@esbuild/*`; empty for a file of no package. */
  readonly package: string;
  /** Its path in the package, begun with `/`; empty for a file of no package. */
  readonly inner: string;
  /** The name of the file without its platform. */
  readonly name: string;
  /** A file that its interpreter loads by its name: Node.js's, or Python's. */
  readonly isModule: boolean;
  /** Its name in the package names a platform. Python's interpreter names its modules so in any package. */
  readonly isNamed: boolean;
  /** The name of the package names a platform: installers take such a package for one host alone. */
  readonly isForOne: boolean;
  /** `linux`, unless it is named for another system: `android`. */
  readonly system: string;
  /** The package is a wheel for any platform, by its tags. */
  readonly isForAny: boolean;
}

const withoutPlatform = (text: string) => text.replace(platformWord, "*");
const namesPlatform = (text: string) => withoutPlatform(text) !== text;

const pythonModule = /\.(?:cpython-|pypy|abi3)[^/]*\.so$/;
const pythonFolders = /\/(?:site|dist)-packages$/;
const ofNode = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
/** `app.whl!/` is an archive, `app.whl/` stands in a pex. */
const ofWheel = /^.*\.whl!?(?=\/)/;

/** @param root of the paths on the disk, which may lie in a package or in a folder of packages; empty for an archive */
export function packagePaths(wheels: readonly InstalledWheel[], root: string): (path: string) => PackagePath {
  const forAny = new Set(wheels.flatMap(({ folder, isForAny }) => (isForAny ? [`${root}/${folder}`] : [])));
  const folders = new Set(wheels.map(({ folder }) => dirname(`${root}/${folder}`)));
  return (path) => {
    const whole = root + path;
    const prefix = prefixOf(whole, folders);
    const [, distribution, tags] = /^([^-]+)-(.+)\.whl!?$/.exec(basename(prefix)) ?? [];
    const isOfPython = pythonModule.test(path);
    const inner = whole.slice(Math.max(prefix.length, root.length));
    const claim = isOfPython ? dirname(inner) : inner;
    return {
      package: withoutPlatform(
        distribution === undefined ? prefix : `${dirname(prefix)}/${distribution}.whl`,
      ),
      inner: prefix === "" ? "" : inner,
      name: withoutPlatform(basename(path)),
      isModule: isOfPython || path.endsWith(".node"),
      isNamed: namesPlatform(claim),
      isForOne: namesPlatform(basename(prefix)),
      system: otherSystem.exec(basename(prefix) + inner)?.[1]?.toLowerCase() ?? "linux",
      isForAny: forAny.has(prefix) || tags?.endsWith("-any") === true,
    };
  };
}

/** The path of the innermost package around a file; empty for a file of no package. `folders` hold packages of Python. */
function prefixOf(path: string, folders: ReadonlySet<string>): string {
  const found = [ofNode, ofWheel].map((pattern) => pattern.exec(path)?.[0] ?? "");
  for (let at = path.lastIndexOf("/"); at >= 0; at = path.lastIndexOf("/", at - 1)) {
    const folder = path.slice(0, at);
    if (pythonFolders.test(folder) || folders.has(folder || "/"))
      found.push(folder + (/^.[^/]*/.exec(path.slice(at))?.[0] ?? ""));
    if (at === 0) break;
  }
  return found.reduce((longest, each) => (each.length > longest.length ? each : longest));
}
