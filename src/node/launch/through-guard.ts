/** Starts another program of an image behind the image's guard. */

import type { LockedImage } from "../../lock/lock.ts";
import type { LaunchRequest, LaunchTarget } from "./target.ts";

/** The variable that lets the arguments stand in place of the image's own entrypoint: program/guard.sh reads it. */
const inPlace = "IMGMATCH_COMMAND";

/** A program in place of the entrypoint would skip the guard: it becomes the first argument. Some targets start no entrypoint with arguments. */
export function throughGuard<Request extends Pick<LaunchRequest, "program" | "args" | "env">>(
  { skipsEntrypoint }: Pick<LaunchTarget, "skipsEntrypoint">,
  image: Pick<LockedImage, "guard"> | undefined,
  request: Request,
): Omit<Request, "program"> & Pick<LaunchRequest, "program" | "args" | "env"> {
  const { program, ...others } = request;
  if (program === undefined || image?.guard !== true || skipsEntrypoint === true) return request;
  const { args, env } = request;
  return { ...others, args: [program, ...args], env: { ...env, [inPlace]: "1" } };
}
