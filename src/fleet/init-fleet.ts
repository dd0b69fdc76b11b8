/** `imgmatch init`: a small matrix and template that plan, render and build as they are. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Problem, throwProblems, usageError } from "../errors.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import { starterFiles } from "./starter.ts";

export interface InitOptions {
  /** Name of the images. Default: `app`. */
  readonly name?: string | undefined;
  /** `host` or `host/path`. Default: `localhost:5000`. */
  readonly registry?: string | undefined;
}

/**
 * Answers the paths of what it has written. Overwrites nothing: throws `FILE_EXISTS` for every file that is there, `USAGE` or
 * `REFERENCE_INVALID` for what can name no image.
 */
export async function initFleet(
  folder: string,
  { name = "app", registry = "localhost:5000" }: InitOptions = {},
): Promise<readonly string[]> {
  checkImageName(name, registry);
  const files = starterFiles({ name, registry });
  const paths = Object.keys(files);
  refuseExisting(folder, paths);
  for (const [path, text] of Object.entries(files)) await writeFileAtomic(join(folder, path), text, folder);
  return paths;
}

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
