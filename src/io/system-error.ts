/** Turns the system's errors into problems: a full or failing disk is no bug of imgmatch. */

import { tmpdir } from "node:os";
import { faultOf, ImgmatchError } from "../errors.ts";
import { isErrno, unreadable } from "./files.ts";

/** null for an error that is not the system's. */
export function systemProblem(error: unknown): ImgmatchError | null {
  if (error instanceof ImgmatchError) return error;
  if (isErrno(error, "EMFILE", "ENFILE")) {
    const whose = isErrno(error, "EMFILE") ? "this process" : "the system";
    const message = `${whose} may not open more files: ${faultOf(error)}`;
    return new ImgmatchError({ code: "TOO_MANY_FILES", message, fix: moreFiles }, { cause: error });
  }
  // Where an open file is read or written, the system names none: that is a temporary one.
  const { syscall = "", path: named } = error as NodeJS.ErrnoException;
  const path = typeof named === "string" ? named : tmpdir();
  if (isErrno(error, "ENOSPC", "EDQUOT", "EROFS")) return writeFailed(path, error);
  if (!isErrno(error, "EACCES", "EAGAIN", "EIO", "ENOMEM", "EPERM", "ESTALE")) return null;
  if (syscall.startsWith("spawn")) {
    const message = `${path} cannot be started: ${faultOf(error)}`;
    const fix = "correct the cause that the system names";
    return new ImgmatchError({ code: "ENGINE_FAILED", message, fix }, { cause: error });
  }
  return reading.includes(syscall) ? unreadable(path, error) : writeFailed(path, error);
}

const reading = "access fstat lstat open opendir read readlink realpath scandir stat".split(" ");

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
  return { what: faultOf(error), fix: "correct the cause that the system names" };
}
