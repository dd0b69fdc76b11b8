/** Checks of a fleet that is about to be written: it must name an image, and overwrite no file. */

import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { type Problem, throwProblems, usageError } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";

export const matrixFile = "matrix.yaml";

/** Throws `USAGE` or `REFERENCE_INVALID`. */
export function checkImageName(name: string, registry: string): void {
  const reference = parseImageReference(`${registry}/${name}`);
  // A name with a slash, a tag or a digest would be another image's.
  if (name.includes("/") || reference.tag !== null || reference.digest !== null) {
    throw usageError(
      `${JSON.stringify(name)} cannot name an image`,
      "use lower-case letters and digits, joined by one of . _ -",
    );
  }
}

/** Throws `FILE_EXISTS` for every file that is there. */
export function refuseExisting(folder: string, paths: readonly string[]): void {
  throwProblems(
    paths
      .filter((path) => existsSync(join(folder, path)))
      .map(
        (path): Problem => ({
          code: "FILE_EXISTS",
          message: "is there already",
          fix: "move it away, or run init elsewhere",
          at: { file: path },
        }),
      ),
  );
}

/** The folder's name as an image may be called. */
export function nameOf(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/[._-]{2,}/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "");
  return name === "" ? "app" : name;
}
