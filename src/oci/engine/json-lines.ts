/** Reads a stream of one JSON value per line, the Docker Engine's progress. */

import type { Readable } from "node:stream";
import { ImgmatchError } from "../../errors.ts";

/** A line of progress has some hundred bytes, one with BuildKit's log of a step some kilobytes. */
export const longestLine = 16 * 1024 * 1024;

/** Throws a `SyntaxError` for a stream that breaks off within a line, and `ENGINE_FAILED` for a line longer than {@link longestLine}. */
export async function* jsonLines(stream: Readable): AsyncGenerator<unknown> {
  stream.setEncoding("utf8");
  // Joining and splitting the parts again for each chunk would take the square of a long line's length.
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const [first = "", ...others] = (chunk as string).split("\n");
    parts.push(first);
    length += first.length;
    if (length > longestLine) throw tooLong();
    for (const next of others) {
      yield* parsed(parts.join(""));
      parts = [next];
      length = next.length;
    }
  }
  yield* parsed(parts.join(""));
}

function* parsed(line: string): Generator<unknown> {
  if (line.trim() !== "") yield JSON.parse(line);
}

function tooLong(): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `the engine sent a line of more than ${longestLine} characters`,
    fix: "see whether DOCKER_HOST names a container engine, and the engine's log (journalctl -u docker)",
  });
}
