/** A docker command with the buildx plug-in and nothing else, for what asks buildx alone: no engine is there. */

import { chmodSync } from "node:fs";
import { makeFolder } from "./folders.ts";
import { whyNot } from "./programs.ts";

const named = process.env.IMGMATCH_BUILDX_PROGRAM;
const install = "IMGMATCH_BUILDX_PROGRAM=/path/to/buildx";

/** null if there is a buildx to ask. */
export const whyNoBuildxPlugin =
  named === undefined
    ? (whyNot("docker", ["buildx", "version"], { install })?.replace(/^/, "no buildx: ") ?? null)
    : whyNot(named, ["version"], { install });

/** PATH, with the docker command that has it. */
export function pathWithBuildx(path = process.env.PATH ?? ""): string {
  if (named === undefined) return path;
  const bin = makeFolder({ docker: `#!/bin/sh\nshift\nexec "${named}" "$@"\n` });
  chmodSync(`${bin}/docker`, 0o755);
  return `${bin}:${path}`;
}
