import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { createLog, createWriter } from "../../src/io/standard-stream.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-stream-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unopened = () => {
  throw new Error("the stream is not needed");
};

function fifo(name: string): { readonly reader: number; readonly writer: number } {
  const path = join(folder, name);
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

describe("a writer", () => {
  test("opens no stream for what is taken at once", () => {
    const { reader, writer } = fifo("small");
    const write = createWriter(writer, unopened);
    write("one\n");
    write("");
    write("…\n");
    const bytes = Buffer.alloc(100);
    expect(bytes.toString("utf8", 0, readSync(reader, bytes))).toBe("one\n…\n");
    closeSync(reader);
    closeSync(writer);
  });

  test("gives a reader that is slow everything, in order, from a pipe that does not block", async () => {
    const { reader, writer } = fifo("large");
    let streams = 0;
    const write = createWriter(writer, () => {
      streams++;
      return new Socket({ fd: writer, readable: false, writable: true });
    });
    const texts = Array.from({ length: 40 }, (_, index) => `${index} ${"x".repeat(10_000)}\n`);
    for (const text of texts) write(text);
    const whole = Buffer.from(texts.join(""));
    const read = Buffer.alloc(whole.length);
    for (let at = 0; at < whole.length; ) {
      try {
        at += readSync(reader, read, { offset: at });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      }
      await setTimeout(1);
    }
    expect(read.equals(whole)).toBe(true);
    expect(streams).toBe(1);
    closeSync(reader);
  });

  test("drops what nobody reads", () => {
    const { reader, writer } = fifo("closed");
    const write = createWriter(writer, unopened);
    closeSync(reader);
    write("nobody\n");
    closeSync(writer);
  });

  test("says that a disk is full", () => {
    const full = openSync("/dev/full", "w");
    expect(() => createWriter(full, unopened)("lost\n")).toThrow("ENOSPC");
    closeSync(full);
  });
});

describe("a log", () => {
  test("keeps a megabyte for a reader that is slow, drops what is beyond, and says so", () => {
    const stream = {
      writableLength: 0,
      write: (text: Uint8Array) => {
        stream.writableLength += text.length;
      },
      on: () => {},
    };
    const log = createLog(() => stream);
    const line = `${"x".repeat(1023)}\n`;
    const taken = Array.from({ length: 2000 }, () => log(line)).filter(Boolean);
    expect(taken).toHaveLength(1025);
    stream.writableLength = 0;
    expect(log(line)).toBe(true);
  });
});
