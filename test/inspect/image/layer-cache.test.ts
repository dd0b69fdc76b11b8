import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { folderCache } from "../../../src/inspect/image/layer-cache.ts";
import type { LayerInspection } from "../../../src/inspect/image/layer.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeFolder } from "../../support/folders.ts";

const layer: LayerInspection = { changes: [], size: 17 };
const digest = digestOf("layer");

describe("what is kept of opened layers", () => {
  let folder: string;
  beforeEach(async () => {
    folder = makeFolder({});
    await folderCache(folder).keep(digest, layer);
  });
  const found = () => folderCache(folder).find(digest);
  const below = () => join(folder, readdirSync(folder)[0] ?? "");
  const file = () => join(below(), readdirSync(below())[0] ?? "");

  it("is found again, and under no other digest", async () => {
    expect(await found()).toEqual(layer);
    expect(await folderCache(folder).find(digestOf("another"))).toBeNull();
  });

  it.each([
    ["the entry", file],
    ["its folder", below],
    ["the folder of the cache", () => folder],
  ])("is not read where others may write %s", async (_, path) => {
    chmodSync(path(), 0o777);
    expect(await found()).toBeNull();
  });

  it("is not read where it is damaged", async () => {
    const bytes = readFileSync(file());
    writeFileSync(file(), bytes.subarray(0, -9));
    expect(await found()).toBeNull();
    writeFileSync(file(), Buffer.alloc(0));
    expect(await found()).toBeNull();
  });
});
