/** The system's own refusals, wherever they come up: what it lacks is no bug of imgmatch. */

import { ImgmatchError } from "../errors.ts";
import { errnoMessage, isErrno } from "./files.ts";
import { isKnownRefusal, writeFailed } from "./write-failed.ts";

/** A problem with a code, or null where the system has refused nothing. */
export function systemProblem(error: unknown): ImgmatchError | null {
  if (error instanceof ImgmatchError) return error;
  if (isErrno(error, "EMFILE") || isErrno(error, "ENFILE")) return tooManyFiles(error);
  const path = error instanceof Error && "path" in error ? error.path : undefined;
  if (typeof path !== "string" || !isKnownRefusal(error)) return null;
  return writeFailed(path, error);
}

function tooManyFiles(error: unknown): ImgmatchError {
  const whose = isErrno(error, "EMFILE") ? "this process" : "the system";
  return new ImgmatchError(
    {
      code: "TOO_MANY_FILES",
      message: `${whose} may not open more files: ${errnoMessage(error)}`,
      fix: "raise the limit (ulimit -n), or lower --concurrency",
    },
    { cause: error },
  );
}
