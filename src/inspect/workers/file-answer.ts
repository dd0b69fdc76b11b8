/** The question to a thread about a file, and its answer. Errors lose their class between threads: they travel as data. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import type { FileInspection } from "../file-inspection.ts";
import type { SpooledFile } from "../image/spool.ts";

export interface FileRequest {
  readonly file: SpooledFile;
  readonly mayBePackaged: boolean;
  /** Its code for CPUs is left unread. */
  readonly gpuAlone: boolean;
}

export interface Reply {
  readonly answer: Answer;
  /** The file comes back with its buffer. */
  readonly file: SpooledFile;
}

export type Answer =
  | { readonly found: FileInspection | null }
  | { readonly problems: readonly [Problem, ...Problem[]] }
  | { readonly failure: Failure };

interface Failure {
  readonly message: string;
  /** `EIO` and the like. */
  readonly code: string | null;
  readonly stack: string | null;
}

export function failureAnswer(error: unknown): Answer {
  if (error instanceof ImgmatchError) return { problems: error.problems };
  if (!(error instanceof Error)) return { failure: { message: String(error), code: null, stack: null } };
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return { failure: { message: error.message, code, stack: error.stack ?? null } };
}

/** Throws the error of the thread, with code, place and stack. */
export function readAnswer(answer: Answer): FileInspection | null {
  if ("found" in answer) return answer.found;
  if ("problems" in answer) throw new ImgmatchError(answer.problems);
  const { message, code, stack } = answer.failure;
  const error = Object.assign(new Error(message), code === null ? {} : { code });
  if (stack !== null) error.stack = stack;
  throw error;
}

/** The buffers that move to the other thread. */
export function transfersOf(file: SpooledFile): ArrayBuffer[] {
  return file.kind === "memory" ? [file.buffer] : [];
}
