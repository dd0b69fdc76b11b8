/** One JSON value per line, as the Docker Engine streams progress. */

import type { Readable } from "node:stream";

/** Yields each value as its line is complete. A part of a line at the end is a stream that broke off: it throws. */
export async function* jsonLines(stream: Readable): AsyncGenerator<unknown> {
  stream.setEncoding("utf8");
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() !== "") yield JSON.parse(line);
    }
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}
