/** How a target says that it has no words for something. */

import { ImgmatchError } from "../../errors.ts";

/** @example throw unsupported("zun", "hand out GPUs", "launch it with docker"); */
export function unsupported(target: string, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "LAUNCH_UNSUPPORTED", message: `${target} cannot ${what}`, fix });
}

/** The same for all that one target has no words for. */
export function unsupportedBy(target: string): (what: string, fix: string) => ImgmatchError {
  return (what, fix) => unsupported(target, what, fix);
}
