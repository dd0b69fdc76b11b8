/** Layers side by side: the answer is that of one after the other, also where some cannot be opened. */

import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import { openLayers } from "../../../src/inspect/image/open-layers.ts";
import type { OpenProgress } from "../../../src/inspect/image/opened-image.ts";
import type { Digest } from "../../../src/oci/digest.ts";

const layers = Array.from({ length: 6 }, (_, index) => ({
  digest: `sha256:${String(index).padStart(64, "0")}` as Digest,
  index,
}));
const found = (index: number) => ({ changes: [{ kind: "file" as const, path: `${index}` }], size: index });

it("answers in their order, the later ones done first, and opens no more than so many at once", async () => {
  let open = 0;
  let most = 0;
  const told: OpenProgress[] = [];
  const options = {
    platform: "linux/amd64",
    cache: noCache,
    onProgress: (progress: OpenProgress) => told.push(progress),
  };
  const slow = async ({ index }: { index: number }, _name: string, onBytes: (count: number) => void) => {
    most = Math.max(most, ++open);
    onBytes(10);
    await wait(60 - 10 * index);
    open--;
    return found(index);
  };
  const opened = await openLayers(layers, "image", options, slow, 3);
  expect(opened).toEqual(layers.map(({ digest, index }) => ({ ...found(index), digest })));
  expect(most).toBe(3);
  expect(told.at(-1)).toEqual({ layer: 6, layers: 6, bytes: 60 });
});

it("throws what the lowest broken layer throws, and reads nothing above it on", async () => {
  const ended: string[] = [];
  const broken = async ({ index }: { index: number }, name: string, onBytes: (count: number) => void) => {
    for (let piece = 0; piece < 20; piece++) {
      if (index === 2 && piece === 10) throw new Error(`${name} is damaged`);
      if (index === 3 && piece === 2) throw new Error(`${name} is damaged sooner`);
      await wait(2);
      onBytes(1);
    }
    ended.push(name);
    return found(index);
  };
  const opened = openLayers(layers, "image", { platform: "linux/amd64", cache: noCache }, broken, 3);
  await expect(opened).rejects.toThrow("layer 3 of image is damaged");
  expect(ended).toEqual(["layer 1 of image", "layer 2 of image"]);
});
