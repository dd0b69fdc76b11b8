/** Takes the files of an environment apart by their packages: by the lists of installers, by the distribution's, else by their paths. */

import { basename, posix } from "node:path";
import { remember } from "../../io/collections.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageSurvey } from "../inspection.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { isInTests } from "./named-code.ts";
import { type PackagePath, packagePaths } from "./package-names.ts";

export interface PackageFiles {
  /** `torch`, `@esbuild/*`; empty for the files of no package. */
  readonly name: string;
  readonly version: string | null;
  readonly members: readonly Member[];
  readonly unopened: ImageSurvey["unopened"];
}

export interface Member {
  readonly file: InspectedFile;
  /** Its `package` is that of the installer's list, where one has the file. */
  readonly place: PackagePath;
}

interface Owner extends Pick<PackageFiles, "name" | "version"> {
  readonly key: string;
  /** The path in the package. */
  readonly inner: string;
}

/** In the order of their first files. Files of test folders that no module outside of them names are left out. */
export function packagesOf(image: OpenedImage, survey: ImageSurvey): readonly PackageFiles[] {
  const root = image.source === "folder" ? image.name.replace(/\/$/, "") : "";
  const placeOf = packagePaths(
    survey.packages.flatMap(({ wheels = [] }) => wheels),
    root,
  );
  const listed = listedFiles(survey.packages);
  const ownerOf = (path: string, place: PackagePath, distribution: string | null): Owner => {
    const own = listed.get(path.replace(/!\/.*$/s, ""));
    if (own !== undefined) return own;
    if (distribution !== null)
      return { key: `distribution ${distribution}`, name: distribution, version: null, inner: "" };
    return ownerByPath(root + path, place);
  };
  const isNamed = namesOutsideTests(survey.named);
  const packages = new Map<string, { owner: Owner; members: Member[]; unopened: PackageFiles["unopened"] }>();
  const packageOf = (owner: Owner) =>
    remember(packages, owner.key, () => ({ owner, members: [], unopened: [] }));
  const tests = new Set<string>();
  for (const file of survey.files) {
    const place = placeOf(file.path);
    const owner = ownerOf(file.path, place, file.package);
    if (isInTests(owner.inner) && !isNamed(file.path)) tests.add(file.path);
    else packageOf(owner).members.push({ file, place: { ...place, package: owner.key } });
  }
  for (const each of survey.unopened) {
    if (tests.has(each.path)) continue;
    const found = packageOf(ownerOf(each.path, placeOf(each.path), null));
    found.unopened = [...found.unopened, each];
  }
  return [...packages.values()].map(({ owner: { name, version }, members, unopened }) => ({
    ...{ name, version, members, unopened },
  }));
}

/** Paths of an image, begun with `/`, by the lists of installers. Python's own list counts before conda's, which has a name of conda's. */
function listedFiles(records: ImageSurvey["packages"]): ReadonlyMap<string, Owner> {
  const found = new Map<string, Owner>();
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

function ownerByPath(path: string, { package: key, inner }: PackagePath): Owner {
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

/** Tells whether a module that is in no folder of tests names a file of code. */
function namesOutsideTests(named: ImageSurvey["named"]): (path: string) => boolean {
  const names = new Set([...named].flatMap(([module, found]) => (isInTests(module) ? [] : found)));
  return (path) => {
    const file = basename(path);
    return names.has(file) || names.has(file.split(".")[0] ?? file);
  };
}
