/** Failures of a Pulumi program. */

import { inspect } from "node:util";
import { ImgmatchError } from "../errors.ts";

/**
 * Pulumi tells of a `RunError`, which it knows by this mark, in its own words alone: the stack leads into imgmatch only.
 *
 * It has Node inspect the error nevertheless, for a trace that mostly nobody reads (cmd/run/run.js): colours make that take
 * half a minute for a stack with Pulumi's own frames, so the error says itself what is to be seen of it.
 */
export function withoutStack(error: unknown): unknown {
  if (!(error instanceof ImgmatchError)) return error;
  return Object.assign(error, { __pulumiRunError: true, [inspect.custom]: () => error.message });
}
