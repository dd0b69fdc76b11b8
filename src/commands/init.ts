/** `imgmatch init`: a small matrix and template that plan, render and build as they are. Overwrites nothing. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ExitCode, exitCodes, ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { CommandContext } from "./context.ts";
import { starterFiles } from "./starter.ts";

export interface InitFlags {
  readonly name?: string;
  readonly registry?: string;
  readonly json?: boolean;
}

export async function init(flags: InitFlags, context: CommandContext): Promise<ExitCode> {
  const { name = "app", registry = "localhost:5000" } = flags;
  // A name with a slash, a tag or a digest would be another image's.
  const reference = parseImageReference(`${registry}/${name}`);
  if (name.includes("/") || reference.tag !== null || reference.digest !== null) {
    throw new ImgmatchError({
      code: "USAGE",
      message: `${JSON.stringify(name)} cannot name an image`,
      fix: "use lower-case letters and digits, joined by one of . _ -",
    });
  }
  const files = starterFiles({ name, registry });
  throwProblems(
    Object.keys(files)
      .filter((path) => existsSync(join(context.cwd, path)))
      .map(
        (path): Problem => ({
          code: "FILE_EXISTS",
          message: "is there already",
          fix: "move it away, or run init elsewhere",
          at: { file: path },
        }),
      ),
  );
  for (const [path, text] of Object.entries(files))
    await writeFileAtomic(join(context.cwd, path), text, context.cwd);
  const written = Object.keys(files);
  if (flags.json) context.out(`${JSON.stringify({ schemaVersion: 1, written }, null, 2)}\n`);
  else context.out(`wrote ${written.join(", ")}\nnext: imgmatch plan\n`);
  return exitCodes.ok;
}
