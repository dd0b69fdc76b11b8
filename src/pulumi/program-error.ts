/** Errors of imgmatch in a Pulumi program. */

import { inspect } from "node:util";
import { ImgmatchError } from "../errors.ts";

/**
 * Pulumi knows a `RunError` by this mark, and prints only the message of the error: a stack trace would lead into imgmatch.
 *
 * It has Node inspect the error nevertheless, for a trace that is rarely printed (cmd/run/run.js): with colours that takes half a minute
 * for a stack with Pulumi's own frames, so the error answers its message.
 */
export function withoutStack(error: unknown): unknown {
  if (!(error instanceof ImgmatchError)) return error;
  return Object.assign(error, { __pulumiRunError: true, [inspect.custom]: () => error.message });
}
