import { describe, expect, it } from "vitest";
import { readTar } from "../../../src/inspect/image/read-tar.ts";
import { makeTar, type MadeFile } from "../support/make-image.ts";

/** Path → size of each entry, or what refuses the archive. Nobody reads the content. */
async function entries(bytes: Buffer): Promise<Record<string, number> | string> {
  const found: Record<string, number> = {};
  const chunks = async function* () {
    yield bytes;
  };
  try {
    for await (const { path, size } of readTar(chunks(), "x.tar")) found[path] = size;
    return found;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  }
}

const file: MadeFile = { path: "short", content: Buffer.alloc(600, "x") };
const withRecords = (records: string, type = "x") =>
  entries(makeTar([{ path: "pax", type, content: Buffer.from(records) }, file, { path: "last" }]));

describe("pax records", () => {
  it.each([
    ["a name", "13 path=long\n", { long: 600, last: 0 }],
    ["a name with what ends names elsewhere", "16 path=a = b\nc\n", { "a = b\nc": 600, last: 0 }],
    ["a length", "12 size=600\n", { short: 600, last: 0 }],
    ["keys that are of no use here", "14 mtime=1.25\n12 size=600\n", { short: 600, last: 0 }],
    ["empty values, which take a key back", "8 path=\n8 size=\n", { short: 600, last: 0 }],
    ["no records", "", { short: 600, last: 0 }],
  ])("%s", async (_name, records, expected) => expect(await withRecords(records)).toEqual(expected));

  it("for every entry", async () =>
    expect(await withRecords("9 size=0\n", "g")).toMatch("entry 3 of the archive has no tar header"));

  it.each([
    ["no space", "13"],
    ["no space behind a record", "13 path=long\n\0\0\0"],
    ["no length", " path=long\n"],
    ["a length of nothing", "0 path=long\n"],
    ["a length that ends before the key", "3 path=long\n"],
    ["a length that is no decimal number", "0xd path=long\n"],
    ["a length beyond the end", "14 path=long\n"],
    ["a length that ends inside the value", "12 path=long\n"],
    ["no key", "8 long\n"],
    ["a size below zero", "11 size=-60\n"],
    ["a size that no file has", "26 size=9999999999999999\n"],
  ])("are refused when they have %s", async (_name, records) =>
    expect(await withRecords(records)).toBe("IMAGE_INVALID: x.tar: entry 1 has damaged pax records"),
  );
});

describe("an archive that is cut off", () => {
  const whole = makeTar([file]);
  it.each([
    ["in a header", 300, "IMAGE_INVALID: x.tar: entry 1 of the archive has no tar header"],
    ["in content that nobody reads", 512 + 599, "IMAGE_INVALID: x.tar: ends in the middle of an entry"],
    ["in the last block, behind the content", 512 + 600, { short: 600 }],
    ["before the empty blocks", 512 + 1024, { short: 600 }],
  ])("%s", async (_name, length, expected) =>
    expect(await entries(whole.subarray(0, length))).toEqual(expected),
  );

  it("in pax records", async () => {
    const bytes = makeTar([{ path: "pax", type: "x", content: Buffer.from("13 path=long\n") }]);
    expect(await entries(bytes.subarray(0, 520))).toBe(
      "IMAGE_INVALID: x.tar: ends in the middle of an entry",
    );
  });
});
