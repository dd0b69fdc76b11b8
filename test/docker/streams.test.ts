import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { grpcMessages, longestMessage } from "../../src/docker/grpc-frames.ts";
import { jsonLines, longestLine } from "../../src/docker/json-lines.ts";
import { isLinear, measureGrowth } from "../properties/support/growth.ts";

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe("lines of JSON", () => {
  const text = '{"a":1}\n\n[2]\r\n"é"\n3';

  test.each([1, 2, 5, 100])("in chunks of %i bytes", async (size) => {
    expect(await all(jsonLines(Readable.from(chunksOf(Buffer.from(text), size))))).toEqual([
      { a: 1 },
      [2],
      "é",
      3,
    ]);
  });

  test("a part of one at the end is no value", async () => {
    await expect(all(jsonLines(Readable.from([Buffer.from('1\n{"a"')])))).rejects.toThrow(SyntaxError);
  });

  test("a line that never ends is refused before the memory is full", async () => {
    let sent = 0;
    const endless = Readable.from(
      (function* () {
        for (;;) {
          sent += 1024 * 1024;
          yield Buffer.alloc(1024 * 1024, " ");
        }
      })(),
    );
    await expect(all(jsonLines(endless))).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    expect(sent).toBeLessThan(longestLine * 2);
  });

  test("a long one in many chunks is read in proportion to it", async () => {
    const growth = await measureGrowth(
      (size) => chunksOf(Buffer.from(JSON.stringify("x".repeat(size * 8))), 512),
      (chunks) => all(jsonLines(Readable.from(chunks))),
    );
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });
});

describe("messages of gRPC", () => {
  const message = (text: string) => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(Buffer.byteLength(text), 1);
    return Buffer.concat([prefix, Buffer.from(text)]);
  };
  const read = async (chunks: readonly Buffer[]) =>
    (await all(grpcMessages(Readable.from(chunks)))).map((each) => Buffer.from(each).toString());

  test.each([1, 2, 5, 6, 7, 100])("in chunks of %i bytes", async (size) => {
    const bytes = Buffer.concat(["one", "", "three"].map(message));
    expect(await read(chunksOf(bytes, size))).toEqual(["one", "", "three"]);
  });

  test("one that says it is longer than any is refused at its prefix", async () => {
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(longestMessage + 1, 1);
    await expect(read([prefix])).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    await expect(read([prefix])).rejects.toThrow(`${longestMessage + 1} bytes, the limit is`);
  });

  test("a long one in many chunks is read in proportion to it", async () => {
    const growth = await measureGrowth(
      (size) => chunksOf(message("x".repeat(size * 8)), 512),
      (chunks) => read(chunks),
    );
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });
});

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}
