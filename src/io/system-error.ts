/** The system's own refusals, wherever they come up: what it lacks is no bug of imgmatch. */

import { ImgmatchError } from "../errors.ts";
import { errnoMessage, isErrno } from "./files.ts";

/** A problem with a code, or null where the system has refused nothing. */
export function systemProblem(error: unknown): ImgmatchError | null {
  if (error instanceof ImgmatchError) return error;
  if (isErrno(error, "EMFILE") || isErrno(error, "ENFILE")) {
    const whose = isErrno(error, "EMFILE") ? "this process" : "the system";
    const message = `${whose} may not open more files: ${errnoMessage(error)}`;
    return new ImgmatchError({ code: "TOO_MANY_FILES", message, fix: moreFiles }, { cause: error });
  }
  const path = error instanceof Error && "path" in error ? error.path : undefined;
  const isRefusal = writersOwn.some((code) => isErrno(error, code));
  return typeof path === "string" && isRefusal ? writeFailed(path, error) : null;
}

/** Refusals that only writing meets. */
const writersOwn = ["ENOSPC", "EDQUOT", "EROFS"];

interface Reason {
  readonly what: string;
  readonly fix: string;
}

const moreFiles = "raise the limit (ulimit -n), or lower --concurrency";

/** errno(3) */
const reasons: Readonly<Record<string, Reason>> = {
  ENOSPC: { what: "the disk is full", fix: "free some space" },
  EDQUOT: { what: "the disk quota is used up", fix: "free some space, or ask for a larger quota" },
  EROFS: { what: "the file system is read-only", fix: "mount it for writing, or choose another place" },
  EACCES: { what: "permission denied", fix: "correct the permissions of the folder" },
  EPERM: { what: "not permitted", fix: "correct the owner and the attributes of the file and its folder" },
  ENAMETOOLONG: { what: "the name is too long for this file system", fix: "choose a shorter one" },
  EISDIR: { what: "a folder is in its place", fix: "remove or rename the folder" },
  ENOTDIR: {
    what: "what should be a folder above it is none",
    fix: "remove or rename the file or folder that is there",
  },
  ELOOP: { what: "symbolic links lead in a circle, or a link is in its place", fix: "remove the link" },
  EEXIST: {
    what: "something else is in its place",
    fix: "remove or rename the file or folder that is there",
  },
  EMFILE: { what: "this process has too many files open", fix: moreFiles },
  ENFILE: { what: "the system has too many files open", fix: moreFiles },
};

/** `WRITE_FAILED` with the system's reason. The old file, if there was one, is unchanged. */
export function writeFailed(file: string, error: unknown): ImgmatchError {
  const { what, fix } = reasonOf(error);
  return new ImgmatchError(
    {
      code: "WRITE_FAILED",
      message: `cannot be written: ${what}`,
      fix: `${fix}; the old file is unchanged`,
      at: { file },
    },
    { cause: error },
  );
}

function reasonOf(error: unknown): Reason {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = reasons[code];
  if (known !== undefined) return { ...known, what: `${known.what} (${code})` };
  return { what: errnoMessage(error), fix: "correct the cause that the system names" };
}
