/** Runs an engine's own program. */

import { ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import { type EndedProgram, type ProgramOptions, runProgram as run } from "../../io/run-program.ts";

const keptLines = 40;

/** Answers also the last lines of standard error. Throws `ENGINE_NOT_FOUND` when there is no such program, and the signal's reason when it was aborted. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { onLine = () => {}, ...options }: ProgramOptions,
): Promise<Pick<EndedProgram, "status" | "stdout" | "timedOut"> & { readonly lastLines: readonly string[] }> {
  const lastLines: string[] = [];
  const keep = (line: string) => {
    lastLines.push(line);
    if (lastLines.length > keptLines) lastLines.shift();
    onLine(line);
  };
  try {
    const { status, stdout, timedOut } = await run(program, args, { ...options, onLine: keep });
    return { status, stdout, timedOut, lastLines };
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new ImgmatchError(
      {
        code: "ENGINE_NOT_FOUND",
        message: `${program} is not installed`,
        fix: "install it, or choose another engine with --engine",
      },
      { cause: error },
    );
  }
}

/** The last words of a program that failed. */
export function lastLineOf(lines: readonly string[]): string {
  return (lines.findLast((line) => line.trim() !== "") ?? "no word of it").replace(/^Error: /, "");
}
