/** Sorts the settings of an original build that no axis and no argument holds, by the names of bake, of the action and of docker's flags. */

import { posix } from "node:path";
import { contextFolder, contextName } from "../matrix/value-schemas.ts";
import type { OriginalBuild } from "./original-build.ts";

/** Make no difference to an image's files, or are said elsewhere: names by the matrix, pushing by `build --push`. */
const elsewhere = new Set(
  `annotation annotations attest attests builder cache-from cache-to description entitlements allow github-token iidfile label labels load
  metadata-file o output outputs progress provenance pull push q quiet rm force-rm sbom t tag tags`.split(
    /\s+/,
  ),
);

/** Belong to a run of the build. */
const ofRun = new Set(
  `add-host add-hosts cgroup-parent memory network no-cache no-cache-filter no-cache-filters secret secrets secret-envs secret-files shm-size
  ssh ulimit ulimits`.split(/\s+/),
);

/** Sorts named contexts (`src=../lib`): folders, and those that no matrix has. */
export function sortContexts(
  pairs: readonly (readonly [name: string, value: string])[],
  folder = ".",
): { readonly contexts: Readonly<Record<string, string>>; readonly left: readonly string[] } {
  const isFolder = ([name, value]: readonly [string, string]) =>
    contextName.test(name) && contextFolder.test(value);
  return {
    contexts: Object.fromEntries(
      pairs.filter(isFolder).map(([name, value]) => [name, posix.join(folder, value).replace(/\/$/, "")]),
    ),
    left: pairs.flatMap((pair) => (isFolder(pair) ? [] : [`build-contexts: ${pair.join("=")}`])),
  };
}

/** Why a context, or the path of a Dockerfile, is not of the repository; null if it is. */
export function foreignPath(what: string, path: string): string | null {
  return /^(-$|\/|[a-z][a-z\d+.-]*:|git@|github\.com\/)/i.test(path)
    ? `${what}: ${path} is not of this repository`
    : null;
}

/** @param settings names and values; an empty value is none */
export function sortSettings(
  settings: readonly (readonly [name: string, value: string])[],
): Pick<OriginalBuild, "ofRun" | "left"> {
  const given = settings.filter(([name, value]) => value !== "" && value !== "false" && !elsewhere.has(name));
  return {
    ofRun: given.flatMap(([name]) => (ofRun.has(name) ? [name] : [])),
    left: given.flatMap(([name, value]) =>
      ofRun.has(name) ? [] : [`${name}: ${value.trim().replace(/\s+/g, " ")}`],
    ),
  };
}
