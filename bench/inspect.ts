/** Measures `imgmatch inspect`: CPU code beside objdump, GPU code beside cuobjdump, and an image of 5 GB. */

import { spawnSync } from "node:child_process";
import {
  createReadStream,
  createWriteStream,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { InspectAnswer } from "../src/inspect/inspect-subjects.ts";
import { checkedImage } from "./checked-image.ts";
import { cpuMs, measure } from "./measure.ts";
import { line, seconds } from "./report.ts";

/** Every machine has Node. `IMGMATCH_CUDA_LIBRARIES` names a folder, and `IMGMATCH_BENCH_LIBRARY` a file with GPU code. */
const program = process.execPath;
const libraries = process.env.IMGMATCH_CUDA_LIBRARIES ?? null;
const library = process.env.IMGMATCH_BENCH_LIBRARY ?? null;
const imageBytes = 5 * 10 ** 9;

export async function openedImages(folder: string): Promise<void> {
  await cpuCode(join(folder, "cpu"));
  if (library !== null) await gpuHeaders(join(folder, "gpu"), library);
  await largeImage(join(folder, "image"));
  await checkedImage(join(folder, "checked"), libraries ?? join(program, "../.."));
}

async function cpuCode(folder: string): Promise<void> {
  const path = join(folder, "one/program");
  const small = join(folder, "small");
  for (const each of [dirname(path), small]) mkdirSync(each, { recursive: true });
  copyFileSync(program, path);
  copyFileSync("/bin/true", join(small, "program"));
  const { cpuMs: start } = await opened(small);
  const { cpuMs: ms, stdout } = await opened(dirname(path));
  const { subjects } = JSON.parse(stdout) as InspectAnswer;
  const files = subjects.flatMap((subject) => subject.files);
  const megabytes = files.reduce((sum, { cpu }) => sum + (cpu?.codeBytes ?? 0), 0) / 10 ** 6;
  line(
    `instructions in ${megabytes.toFixed(0)} MB of code (node)`,
    `${seconds(ms)}, ${(megabytes / (ms / 1000)).toFixed(0)} MB/s with the start, ${(megabytes / ((ms - start) / 1000)).toFixed(0)} without  (aim: 30)`,
  );
  const theirs = timed("objdump", ["-d", path]);
  if (theirs !== null) line("objdump -d", `${seconds(theirs)}, ${(theirs / ms).toFixed(1)} times as long`);
}

async function gpuHeaders(folder: string, path: string): Promise<void> {
  mkdirSync(folder);
  const copy = join(folder, "library.so");
  copyFileSync(path, copy);
  const { findCode } = await import("../src/inspect/inspect-file.ts");
  const { fileSource } = await import("../src/inspect/byte-source.ts");
  const { readElf } = await import("../src/inspect/elf/elf.ts");
  const source = fileSource(openSync(copy, "r"), statSync(copy).size);
  let modules = 0;
  const ms = await cpuMs(async () => {
    modules = (await findCode(source, readElf(source))).gpu?.modules ?? 0;
  });
  line(
    `GPU code in ${Math.round(source.size / 10 ** 6)} MB, ${modules} modules`,
    `${seconds(ms)}  (aim: 0.5 s)`,
  );
  const cuobjdump = join(process.env.IMGMATCH_CUDA_HOME ?? "", "bin/cuobjdump");
  const theirs = existsSync(cuobjdump) ? timed(cuobjdump, ["-all", copy]) : null;
  if (theirs !== null)
    line("cuobjdump -all", `${seconds(theirs)}, ${(theirs / ms).toFixed(1)} times as long`);
  const whole = await opened(folder);
  line(
    "the library's CPU code and checksum too",
    `${seconds(whole.cpuMs)} of processors, ${whole.peakMiB} MiB at most  (aim: 300 MiB)`,
  );
  const instructions = timed("objdump", ["-d", copy]);
  if (instructions !== null)
    line("objdump -d", `${seconds(instructions)}, ${(instructions / whole.cpuMs).toFixed(1)} times as long`);
}

/** Repeats one layer of real files up to 5 GB. Without the cache, each layer is opened. */
async function largeImage(folder: string): Promise<void> {
  const from = libraries ?? join(program, "../..");
  const blobs = join(folder, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const tar = join(folder, "layer.tar");
  if (spawnSync("tar", ["-c", "-C", from, "-f", tar, "."]).status !== 0)
    throw new Error(`tar of ${from} failed`);
  const unpacked = statSync(tar).size;
  await pipeline(createReadStream(tar), createGzip({ level: 1 }), createWriteStream(join(folder, "layer")));
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(join(folder, "layer"))) hash.update(chunk as Buffer);
  const digest = hash.digest("hex");
  renameSync(join(folder, "layer"), join(blobs, digest));
  const blob = (bytes: string) => {
    const name = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, name), bytes);
    return { digest: `sha256:${name}`, size: bytes.length };
  };
  const layers = Math.ceil(imageBytes / unpacked);
  const layer = {
    mediaType: "application/vnd.oci.image.layer.v1.tar+gzip",
    digest: `sha256:${digest}`,
    size: statSync(join(blobs, digest)).size,
  };
  const config = blob(JSON.stringify({ os: "linux", architecture: "amd64" }));
  const manifest = blob(
    JSON.stringify({ schemaVersion: 2, config, layers: Array.from({ length: layers }, () => layer) }),
  );
  writeFileSync(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }));
  writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const { ms, cpuMs, peakMiB } = await opened(folder);
  line(
    `an image of ${((layers * unpacked) / 10 ** 9).toFixed(1)} GB, ${layers} layers of gzip`,
    `${seconds(ms)}, ${seconds(cpuMs)} of processors, ${peakMiB} MiB at most  (aim: 60 s, 300 MiB)`,
  );
}

function opened(folder: string) {
  return measure(["inspect", folder, "--json", "--no-cache"], folder);
}

/** Milliseconds of processors, which other work on the machine changes little; null without the program. */
function timed(command: string, args: readonly string[]): number | null {
  const script = 'TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null 2>/dev/null';
  const { status, stderr } = spawnSync("bash", ["-c", script, command, ...args], { encoding: "utf8" });
  const [user = 0, system = 0] = stderr.trim().split(" ").map(Number);
  return status === 0 ? (user + system) * 1000 : null;
}
