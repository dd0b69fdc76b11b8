/** Tells which package a file of an environment belongs to: by the lists of installers, by the distribution's, else by its path. */

import { basename, posix } from "node:path";
import type { OpenedImage } from "../image/open-layers.ts";
import { isInTests } from "./named-code.ts";
import { type PackagePath, packagePaths } from "./package-names.ts";
import type { PackageRecords } from "./unchanged-files.ts";

export interface PackageOwner {
  readonly key: string;
  /** `torch`, `@esbuild/*`; empty for the files of no package. */
  readonly name: string;
  readonly version: string | null;
  /** The path in the package. */
  readonly inner: string;
}

/** `distribution` is the package of the system's distribution that brought the file unchanged. */
export type OwnerOf = (
  path: string,
  distribution: string | null,
) => { readonly owner: PackageOwner; readonly place: PackagePath };

export function packageOwners(
  image: Pick<OpenedImage, "source" | "name">,
  records: readonly PackageRecords[],
): OwnerOf {
  const root = image.source === "folder" ? image.name.replace(/\/$/, "") : "";
  const placeOf = packagePaths(
    records.flatMap(({ wheels = [] }) => wheels),
    root,
  );
  const listed = listedFiles(records);
  return (path, distribution) => {
    const place = placeOf(path);
    const own = listed.get(path.replace(/!\/.*$/s, ""));
    const ofSystem =
      distribution === null
        ? null
        : { key: `distribution ${distribution}`, name: distribution, version: null, inner: "" };
    return { owner: own ?? ofSystem ?? ownerByPath(root + path, place), place };
  };
}

/** Paths of an image, begun with `/`, by the lists of installers. Python's own list counts before conda's, which has a name of conda's. */
function listedFiles(records: readonly PackageRecords[]): ReadonlyMap<string, PackageOwner> {
  const found = new Map<string, PackageOwner>();
  const installed = records.flatMap(({ installed: one }) => one ?? []);
  const isOfPython = (folder: string) => /\/(?:site|dist)-packages$/.test(`/${folder}`);
  installed.sort((a, b) => Number(isOfPython(b.folder)) - Number(isOfPython(a.folder)));
  for (const { name, version, folder, files } of installed)
    for (const inner of files) {
      const path = posix.join("/", folder, inner);
      if (!found.has(path)) found.set(path, { key: `${folder} ${name}`, name, version, inner });
    }
  return found;
}

function ownerByPath(path: string, { package: key, inner }: PackagePath): PackageOwner {
  const wheel = path.split("/").findLast((part) => /\.whl!?$/.test(part));
  const [name, version] = wheel?.split("-") ?? [];
  if (key.endsWith(".whl") && name !== undefined && version !== undefined)
    return { key, name, version, inner };
  const last = basename(key);
  const scope = /\/node_modules\/(@[^/]+\/)[^/]+$/.exec(key)?.[1] ?? "";
  // A module may be one file, and auditwheel puts libraries beside their package: `numpy.libs`.
  const short = scope === "" && !key.includes("/node_modules/") ? (last.split(".")[0] ?? last) : last;
  return { key: key.replace(/\.libs$/, ""), name: scope + short, version: null, inner };
}

/** Tells whether a file stands in a package's folder of tests, and no module outside of such a folder names the file: it decides nothing. */
export function testFiles(
  ownerOf: OwnerOf,
  named: ReadonlyMap<string, readonly string[]>,
): (path: string, distribution: string | null) => boolean {
  const names = new Set([...named].flatMap(([module, found]) => (isInTests(module) ? [] : found)));
  return (path, distribution) => {
    const file = basename(path);
    const isNamed = names.has(file) || names.has(file.split(".")[0] ?? file);
    return !isNamed && isInTests(ownerOf(path, distribution).owner.inner);
  };
}
