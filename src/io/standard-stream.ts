/** Writes to standard output and error without Node's streams, which take milliseconds to make. */

import { writeSync } from "node:fs";
import { platform } from "node:process";

/** The part of a stream that is needed here. */
interface Overflow {
  write(text: Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/**
 * Answers a function that writes text whole and in order. If a non-blocking pipe is full, the rest goes through the stream. Windows always
 * needs the stream, which converts text for the console.
 *
 * `imgmatch build 2>&1 | head` closes the pipe early. The work goes on, and text that nobody reads is dropped. Any other failure is thrown.
 */
export function createWriter(fd: number, open: () => Overflow): (text: string) => void {
  let stream: Overflow | null = platform === "win32" ? opened(open()) : null;
  return (text) => {
    const bytes = Buffer.from(text);
    const rest = stream === null ? writeAtOnce(fd, bytes) : bytes;
    if (rest.length === 0) return;
    stream ??= opened(open());
    stream.write(rest);
  };
}

/** Answers the bytes that were not written; none if nobody reads. */
function writeAtOnce(fd: number, bytes: Uint8Array): Uint8Array {
  let rest = bytes;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EPIPE") return new Uint8Array();
      if (code === "EAGAIN") return rest;
      throw error;
    }
  }
  return rest;
}

function opened<Stream extends Overflow>(stream: Stream): Stream {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
  return stream;
}

/** The part of a stream that a log needs. */
interface LogStream extends Overflow {
  /** Bytes that nobody has read. */
  readonly writableLength: number;
}

const mostUnread = 1024 * 1024;

/**
 * For a server that must neither wait for its log's reader nor keep unread lines for ever. Node's stream never blocks; beyond a megabyte of
 * unread lines, further ones are dropped.
 *
 * @returns a function that answers false for a dropped line
 */
export function createLog(open: () => LogStream): (line: string) => boolean {
  let stream: LogStream | null = null;
  return (line) => {
    stream ??= opened(open());
    if (stream.writableLength > mostUnread) return false;
    stream.write(Buffer.from(line));
    return true;
  };
}
