/** Writing to standard output and error at once, without the stream that Node makes for each: that takes milliseconds. */

import { writeSync } from "node:fs";
import { platform } from "node:process";

/** The part of a stream that is needed here. */
export interface Overflow {
  write(text: Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/**
 * A function that writes text to a file descriptor, in order and whole: at once where it is taken at once, and the rest through the stream
 * where a pipe that does not block is full. On Windows always the stream, which knows how a console wants its text.
 *
 * `imgmatch build 2>&1 | head` closes the pipe early. That is no failure, and no reason to leave work half done: what nobody
 * reads is dropped. Any other failure is thrown.
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

/** Answers with the bytes that were not taken; none if nobody reads. */
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

function opened(stream: Overflow): Overflow {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
  return stream;
}

/** The part of a stream that a log needs. */
export interface LogStream extends Overflow {
  /** Bytes that nobody has taken. */
  readonly writableLength: number;
}

const mostUnread = 1024 * 1024;

/**
 * For who must not wait for the reader of its log, and must not keep for ever what nobody reads: a line beyond a megabyte of unread
 * ones is dropped. The stream of Node never blocks, whatever the pipe was opened as.
 *
 * @returns a function that says whether the line was taken
 */
export function createLog(open: () => LogStream): (line: string) => boolean {
  let stream: LogStream | null = null;
  return (line) => {
    if (stream === null) {
      stream = open();
      opened(stream);
    }
    if (stream.writableLength > mostUnread) return false;
    stream.write(Buffer.from(line));
    return true;
  };
}
