/**
 * Tells whether an image's loader finds the libcuda of its forward-compatibility package before that of the host. Pure.
 *
 * A container runtime puts the host's library into a system folder, and writes `ld.so.cache` anew from `ld.so.conf`: the image's own cache no
 * longer counts. The first of these decides that finds the package (ld.so(8)):
 *
 * 1. `LD_LIBRARY_PATH` as a script sets it that starts the image's program
 * 2. `LD_LIBRARY_PATH` of the image's environment, or a variable with which a program looks for the package itself
 * 3. the run path of a program that opens libcuda
 * 4. the order of the folders in `ld.so.conf`
 */

import type { DroppedLinks, OnPath } from "../../lock/requirement.ts";
import type { ProgramFacts } from "../file-inspection.ts";
import type { DriverFiles, LibraryFile } from "../nvidia/driver-files.ts";
import type { ImageStart } from "../image/open-layers.ts";
import { ldFolders } from "./ld-conf.ts";
import { driverLibrary, type LoaderRecord } from "./loader-record.ts";
import type { PathSetting } from "./shell-path.ts";

export interface CompatPath {
  /** null if it is unknown. */
  readonly onPath: OnPath | null;
  /** The reason, for people. */
  readonly reason: string;
  /** The package lies where container toolkits look for it. */
  readonly isMountable: boolean;
  /** The libcuda that its loader finds if nothing is put into the container. */
  readonly loaded: string | null;
  /** Branches of kernel drivers in the note of the package's libcuda; null without a note. */
  readonly listed: readonly string[] | null;
}

/** NVIDIA's libraries of an image. */
export interface ImageDriver extends DriverFiles {
  /** How the image's loader finds the forward-compatibility package; null for an image without one. */
  readonly compatPath: CompatPath | null;
  /** The major of the L4T release of its packages; null if there are none, or of several. */
  readonly l4t: string | null;
  /** Libraries of a Jetson's driver that JetPack 7 has dropped and the image lacks, each with a file that links the library. */
  readonly links: DroppedLinks;
}

export interface LoaderView {
  /** Libraries of the package. */
  readonly compat: readonly LibraryFile[];
  readonly loader: ReadonlyMap<string, LoaderRecord>;
  readonly realPath: (path: string) => string | null;
  readonly start: ImageStart | undefined;
  readonly programs: readonly ({ readonly path: string } & Pick<
    ProgramFacts,
    "needed" | "runPath" | "branches"
  >)[];
}

/** The system folders of distributions' ld.so, for both architectures, in its order (`ld.so --list-diagnostics`, `path.system_dirs`). */
const systemFolders = [
  "/lib/x86_64-linux-gnu",
  "/usr/lib/x86_64-linux-gnu",
  "/lib/aarch64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/lib64",
  "/usr/lib64",
  "/lib",
  "/usr/lib",
];

/** Variables that make programs look for the package themselves. Source: vLLM, `vllm/env_override.py`. */
const switches: readonly string[] = ["VLLM_ENABLE_CUDA_COMPATIBILITY"];

/** null for an image without the package. */
export function compatPath(view: LoaderView): CompatPath | null {
  if (view.compat.length === 0) return null;
  const found = byScripts(view) ?? byEnvironment(view) ?? byRunPath(view) ?? byConf(view);
  const mounted = toolkitFolders.map((folder) => view.realPath(folder));
  const listed = view.programs.find(({ path }) => path === view.compat[0]?.path)?.branches ?? null;
  const isMountable = view.compat.some(({ path }) => mounted.includes(path.slice(0, path.lastIndexOf("/"))));
  return { ...found, isMountable, loaded: loadedLibrary(view), listed };
}

/** Source: nvidia-container-toolkit, `cudacompat.go` and `lib-csv.go` (Orin); libnvidia-container, `src/nvc_container.c`. */
const toolkitFolders = ["/usr/local/cuda/compat", "/usr/local/cuda/compat_orin"];

type Found = Pick<CompatPath, "onPath" | "reason">;

function byEnvironment({ start, ...view }: LoaderView): Found | null {
  const set = switches.find((name) => /^(?:1|true|yes|on)$/i.test(start?.env[name] ?? ""));
  if (set !== undefined) return { onPath: "always", reason: `${set} of its environment` };
  const path = start?.env.LD_LIBRARY_PATH;
  return path !== undefined && isBefore(view, folders(path))
    ? { onPath: "always", reason: "LD_LIBRARY_PATH of its environment" }
    : null;
}

/** The image's start script decides. Conditional settings, in this script and in other scripts, may apply or not. */
function byScripts(view: LoaderView): Found | null {
  const { start, loader } = view;
  const scripts = [...loader].flatMap(([path, record]) =>
    record.kind === "script" ? [{ path, settings: record.settings }] : [],
  );
  if (start === undefined || scripts.length === 0) return null;
  const words = start.command.flatMap((word) => pathsOf(word, start).map((path) => view.realPath(path)));
  const startScript = scripts.find(({ path }) => words.includes(path));
  if (startScript?.settings.some((setting) => isAlways(setting, view, start)) === true)
    return { onPath: "always", reason: `LD_LIBRARY_PATH in ${startScript.path}` };
  const undecided = startScript ?? scripts.find(() => startsScript(view, start));
  if (undecided === undefined) return null;
  const why = startScript === undefined ? "which may run or not" : "which depends on what it finds";
  return { onPath: null, reason: `${undecided.path} says where libraries are, ${why}` };
}

/** True if the setting runs in any case, and puts the package first. */
function isAlways({ value, isConditional }: PathSetting, view: LoaderView, { env }: ImageStart): boolean {
  if (isConditional) return false;
  const inherited = env.LD_LIBRARY_PATH ?? "";
  const text = value
    .replace(/\$\{LD_LIBRARY_PATH:?\+[^{}]*(?:\{[^{}]*\}[^{}]*)?\}/g, inherited && `:${inherited}`)
    .replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced?: string, plain?: string) => {
      const name = braced ?? plain ?? "";
      return name === "LD_LIBRARY_PATH" ? inherited : (env[name] ?? whole);
    });
  return !/[$`]/.test(text) && isBefore(view, folders(text));
}

/** True if the image starts a script, or its shell reads one. */
function startsScript({ realPath, programs }: LoaderView, start: ImageStart): boolean {
  if (start.env.BASH_ENV !== undefined || start.env.ENV !== undefined) return true;
  const paths = start.command.slice(0, 1).flatMap((word) => pathsOf(word, start));
  const path = paths.map(realPath).find((each) => each !== null);
  return path !== undefined && !programs.some((program) => program.path === path);
}

function pathsOf(word: string, { env, folder }: ImageStart): readonly string[] {
  if (word.startsWith("/")) return [word];
  if (word.includes("/")) return [`${folder}/${word}`];
  const path = env.PATH ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  return [...path.split(":").slice(0, 100), folder].map((each) => `${each}/${word}`);
}

function byRunPath(view: LoaderView): Found | null {
  for (const { path, needed, runPath } of view.programs) {
    // The CUDA runtime opens libcuda by its name.
    const opens = needed.includes(driverLibrary) || /\/libcudart[-\w]*\.so[.\d]*$/.test(path);
    if (runPath === undefined || !opens) continue;
    if (isBefore(view, runFolders(path, runPath)))
      return { onPath: "always", reason: `the run path of ${path}` };
  }
  return null;
}

function runFolders(path: string, runPath: string): readonly string[] {
  const origin = path.slice(0, path.lastIndexOf("/")) || "/";
  return folders(runPath.replace(/\$(?:ORIGIN\b|\{ORIGIN\})/g, origin));
}

function byConf(view: Omit<LoaderView, "start">): Found {
  const packaged = new Set(view.compat.map(({ path }) => path.slice(0, path.lastIndexOf("/"))));
  const confs = new Map(
    [...view.loader].flatMap(([path, record]) => (record.kind === "conf" ? [[path, record.lines]] : [])),
  );
  let system: string | null = null;
  for (const { folder, conf, isUnread } of ldFolders(confs)) {
    if (isUnread && system === null && (/[*?]/.test(folder) || view.realPath(folder) !== null))
      return { onPath: null, reason: `${conf} includes ${folder}, which is not read` };
    if (isUnread) continue;
    if (isSystem(view, folder)) system ??= folder;
    const real = view.realPath(folder);
    const isMissing = real === null && /\bcompat\b/.test(folder);
    // ldconfig makes the link of the library's own name where there is none.
    if (!isMissing && (real === null || !packaged.has(real))) continue;
    if (system !== null)
      return {
        onPath: "never",
        reason: `${conf} names it behind ${system}, where the host's libcuda is put`,
      };
    return isMissing
      ? { onPath: null, reason: `${conf} names ${folder}, which is not there before it starts` }
      : { onPath: "cache", reason: `${conf} names ${folder}` };
  }
  return {
    onPath: "never",
    reason: cachedOf(view).some((path) => isCompat(view, path))
      ? "only /etc/ld.so.cache names its folder: a container runtime writes that anew from /etc/ld.so.conf"
      : "neither LD_LIBRARY_PATH nor /etc/ld.so.conf names its folder",
  };
}

/** True if a search along the folders finds the package first. */
function isBefore(view: Pick<LoaderView, "compat" | "realPath">, path: readonly string[]): boolean {
  for (const folder of path) {
    if (isSystem(view, folder)) return false;
    const found = view.realPath(`${folder}/${driverLibrary}`);
    if (found !== null) return isCompat(view, found);
  }
  return false;
}

function isSystem({ realPath }: Pick<LoaderView, "realPath">, folder: string): boolean {
  const real = realPath(folder);
  return systemFolders.some((each) => each === folder || (real !== null && real === realPath(each)));
}

function isCompat({ compat, realPath }: Pick<LoaderView, "compat" | "realPath">, path: string): boolean {
  const real = realPath(path);
  return compat.some((each) => each.path === real);
}

/** The absolute folders of a path. Relative ones depend on where a program starts. */
function folders(path: string): readonly string[] {
  return path
    .split(/[:;]/)
    .slice(0, 1000)
    .filter((each) => each.startsWith("/"))
    .map((each) => each.replace(/\/+$/, "") || "/");
}

function cachedOf({ loader }: Pick<LoaderView, "loader">): readonly string[] {
  return [...loader.values()].flatMap((record) => (record.kind === "cache" ? record.libcuda : []));
}

/** In the order of ld.so: `LD_LIBRARY_PATH`, the run path, the cache, the folders of the system. */
function loadedLibrary(view: LoaderView): string | null {
  const wanting = view.programs.filter(({ needed }) => needed.includes(driverLibrary));
  const inFolder = (folder: string) => `${folder}/${driverLibrary}`;
  const places = [
    ...folders(view.start?.env.LD_LIBRARY_PATH ?? "").map(inFolder),
    ...wanting.flatMap(({ path, runPath = "" }) => runFolders(path, runPath)).map(inFolder),
    ...cachedOf(view),
    ...systemFolders.map(inFolder),
  ];
  for (const place of places) {
    const real = view.realPath(place);
    if (real !== null) return real;
  }
  return null;
}
