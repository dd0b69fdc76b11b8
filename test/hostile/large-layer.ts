/** A process that opens an image of two layers of 350 MB, made as they are read, and prints as JSON what it found and its most memory in MB. */

import { createReadStream, readFileSync, statSync } from "node:fs";
import { filesOfLayers } from "../../src/inspect/image/file-tree.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import { openLayers } from "../../src/inspect/image/open-layers.ts";
import { threadInspector } from "../../src/inspect/workers/thread-inspector.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { gpuFile, makeTar } from "../inspect/support/make-image.ts";

const MiB = 2 ** 20;
const program = process.execPath;
/** Of an ELF file that is damaged: searched for GPU code to its end. */
const damaged = Buffer.concat([readFileSync(program).subarray(0, 4096), gpuFile(90)]);

async function* layer(name: string) {
  for (let count = 0; count < 20_000; count++)
    yield makeTar([{ path: `usr/lib/python3/site-packages/${name}/module-${count}.py` }]).subarray(0, -1024);
  yield makeTar([{ path: `usr/lib/${name}.so`, content: gpuFile(90) }]).subarray(0, -1024);
  for (const copy of [1, 2])
    yield* entry(`usr/bin/${name}-${copy}`, statSync(program).size, createReadStream(program));
  yield* entry(`opt/${name}.so`, 150 * MiB, repeated(damaged, 150 * MiB));
  yield Buffer.alloc(1024);
}

async function* entry(path: string, size: number, content: AsyncIterable<Buffer>) {
  yield makeTar([{ path, size }]).subarray(0, 512);
  yield* content;
  yield Buffer.alloc((512 - (size % 512)) % 512);
}

async function* repeated(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  const piece = Buffer.concat(Array.from({ length: Math.ceil(MiB / bytes.length) }, () => bytes));
  for (let left = size; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length));
}

const layers = ["a", "b"].map((name) => ({ name, digest: digestOf(Buffer.from(name)), size: 0 }));
declare const IMGMATCH_WORKER: string;
const inspector = threadInspector(new URL(IMGMATCH_WORKER, import.meta.url), Number(process.argv[2]));
const options = { platform: "linux/amd64", cache: noCache, inspector };
const opened = await openLayers(layers, "image", options, (each) => ({
  chunks: layer(each.name),
  digest: null,
}));
const { files } = filesOfLayers(opened);
const status = readFileSync("/proc/self/status", "utf8");
console.log(
  JSON.stringify({
    megabytes: Math.round(opened.reduce((sum, { size }) => sum + size, 0) / 10 ** 6),
    found: files.map(({ path }) => path),
    peakMegabytes: (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024) / 10 ** 6,
  }),
);
