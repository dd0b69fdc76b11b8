/** The refusal of a launch that a target cannot express. */

import { ImgmatchError } from "../../errors.ts";

/** @example throw unsupported("zun", "hand out GPUs", "launch it with docker"); */
export function unsupported(target: string, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "LAUNCH_UNSUPPORTED", message: `${target} cannot ${what}`, fix });
}

/** {@link unsupported} of one target. */
export function unsupportedBy(target: string): (what: string, fix: string) => ImgmatchError {
  return (what, fix) => unsupported(target, what, fix);
}
