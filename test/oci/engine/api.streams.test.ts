import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { jsonLines, longestLine } from "../../../src/oci/engine/api.ts";
import { isLinear, measureGrowth } from "../../properties/support/growth.ts";

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

function chunksOf(bytes: Buffer, size: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  return chunks;
}
