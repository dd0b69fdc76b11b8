/** Failures of a Pulumi program. */

import { ImgmatchError } from "../../../errors.ts";

/** Pulumi tells of a `RunError`, which it knows by this mark, in its own words alone: the stack leads into imgmatch only. */
export function withoutStack(error: unknown): unknown {
  return error instanceof ImgmatchError ? Object.assign(error, { __pulumiRunError: true }) : error;
}
