/** Takes the files of an environment apart by their packages. */

import { remember } from "../../io/collections.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { UnopenedFile } from "../image/file-tree.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { PackagePath } from "./package-names.ts";
import { packageOwners, type PackageOwner } from "./package-owners.ts";
import type { PackageRecords } from "./unchanged-files.ts";

export interface PackageFiles extends Pick<PackageOwner, "name" | "version"> {
  readonly members: readonly Member[];
  readonly unopened: readonly UnopenedFile[];
}

export interface Member {
  readonly file: InspectedFile;
  /** Its `package` is that of the installer's list, where one has the file. */
  readonly place: PackagePath;
}

interface FoundFiles {
  readonly files: readonly InspectedFile[];
  readonly unopened: readonly UnopenedFile[];
  readonly packages: readonly PackageRecords[];
}

/** In the order of their first files. */
export function packagesOf(
  image: Pick<OpenedImage, "source" | "name">,
  { files, unopened, packages }: FoundFiles,
): readonly PackageFiles[] {
  const ownerOf = packageOwners(image, packages);
  const found = new Map<string, { owner: PackageOwner; members: Member[]; unopened: UnopenedFile[] }>();
  const packageOf = (owner: PackageOwner) =>
    remember(found, owner.key, () => ({ owner, members: [], unopened: [] }));
  for (const file of files) {
    const { owner, place } = ownerOf(file.path, file.package);
    packageOf(owner).members.push({ file, place: { ...place, package: owner.key } });
  }
  for (const each of unopened) packageOf(ownerOf(each.path, null).owner).unopened.push(each);
  return [...found.values()].map(({ owner: { name, version }, members, unopened: unread }) => ({
    ...{ name, version, members, unopened: unread },
  }));
}
