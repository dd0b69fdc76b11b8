/** A process that opens one layer of 900 MB, made as it is read, and prints as JSON what it found and its most memory in MiB. */

import { createReadStream, readFileSync, statSync } from "node:fs";
import { filesOfLayers } from "../../src/inspect/image/file-tree.ts";
import { inspectLayer } from "../../src/inspect/image/layer.ts";
import { gpuFile, makeTar } from "../inspect/support/make-image.ts";

const MiB = 2 ** 20;
const program = process.execPath;
/** Of an ELF file that is damaged: searched for GPU code to its end. */
const damaged = Buffer.concat([readFileSync(program).subarray(0, 4096), gpuFile(90)]);

async function* layer() {
  for (let count = 0; count < 20_000; count++)
    yield makeTar([{ path: `usr/lib/python3/site-packages/package/module-${count}.py` }]).subarray(0, -1024);
  yield makeTar([{ path: "usr/lib/small.so", content: gpuFile(90) }]).subarray(0, -1024);
  for (const copy of [1, 2, 3])
    yield* entry(`usr/bin/${copy}`, statSync(program).size, createReadStream(program));
  yield* entry("opt/library.so", 500 * MiB, repeated(damaged, 500 * MiB));
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

const opened = await inspectLayer(layer(), "layer 1");
const { files } = filesOfLayers([opened]);
const status = readFileSync("/proc/self/status", "utf8");
console.log(
  JSON.stringify({
    megabytes: Math.round(opened.size / 10 ** 6),
    found: files.map(({ path }) => path),
    peakMiB: Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024,
  }),
);
