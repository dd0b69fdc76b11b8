/** Checks a new fleet before it is written: its name, and that it overwrites no file. */

import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { throwProblems, usageError } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";

export const matrixFile = "matrix.yaml";

/** Throws `USAGE` or `REFERENCE_INVALID`. */
export function checkImageName(name: string, registry: string): void {
  const reference = parseImageReference(`${registry}/${name}`);
  // With a slash, a tag or a digest in it, the name would be that of another image.
  if (name.includes("/") || reference.tag !== null || reference.digest !== null) {
    throw usageError(
      `${JSON.stringify(name)} cannot name an image`,
      "use lower-case letters and digits, joined by one of . _ -",
    );
  }
}

/** Throws `FILE_EXISTS` for every existing file. */
export function refuseExisting(folder: string, paths: readonly string[]): void {
  const fault = { message: "is there already", fix: "move it away, or run init elsewhere" };
  const existing = paths.filter((path) => existsSync(join(folder, path)));
  throwProblems(existing.map((file) => ({ code: "FILE_EXISTS", ...fault, at: { file } })));
}

/** The note of a name under `notSecret`. */
export function permitted(name: string): string {
  return `${name} is a secret by its name and none by its text: the matrix permits the name under notSecret`;
}

/** The folder's name, changed to fit an image. */
export function imageNameFor(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/[._-]{2,}/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "");
  return name === "" ? "app" : name;
}
