/** An OCI image layout inside a tar archive (OCI image-spec, `image-layout.md`): only its small files are kept. */

import { createReadStream } from "node:fs";
import { ImgmatchError } from "../../../../errors.ts";
import { createChunkReader } from "../../../../inspect/image/chunks.ts";
import { readTar } from "../../../../inspect/image/read-tar.ts";
import { systemProblem } from "../../../../io/system-error.ts";

type Json = Readonly<Record<string, unknown>>;

const mebi = 1024 * 1024;
/** No index, manifest or configuration is longer; what is, is a layer. */
const longestJson = 4 * mebi;
/** A layout has one or two levels of indexes: more is a circle. */
const deepest = 8;
const brace = "{".charCodeAt(0);
const block = 512;

/** The configuration of the archive's one image. Throws `ENGINE_FAILED` for what is no whole archive. */
export async function readArchivedConfig(path: string): Promise<unknown> {
  return configOf(createReadStream(path, { highWaterMark: mebi }), path);
}

/** @param from what errors name */
export async function configOf(archive: AsyncIterable<Uint8Array>, from: string): Promise<unknown> {
  const files = await smallFiles(archive, from).catch((error: unknown) => {
    const known = systemProblem(error);
    if (known !== null && known.code !== "IMAGE_INVALID") throw known;
    throw broken(from, error instanceof Error ? error.message : String(error), error);
  });
  const read = (name: string): Json => {
    const bytes = files.get(name);
    if (bytes === undefined) throw broken(from, `${name} is not there`);
    try {
      return JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
    } catch (error) {
      throw broken(from, `${name} is no JSON`, error);
    }
  };
  const blob = (descriptor: unknown) =>
    read(`blobs/${String((descriptor as { digest?: unknown } | undefined)?.digest).replace(":", "/")}`);
  let json = read("index.json");
  for (let depth = 0; Array.isArray(json.manifests); depth++) {
    if (depth === deepest) throw broken(from, `its indexes are nested over ${deepest} times`);
    json = blob(json.manifests[0]);
  }
  return blob(json.config);
}

/** Name → bytes, of all that may be JSON. Layers lie before `index.json`, which says what is what: they are read over. */
async function smallFiles(
  archive: AsyncIterable<Uint8Array>,
  from: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  let end: Uint8Array = new Uint8Array(0);
  const watched = (async function* () {
    for await (const chunk of archive) {
      end = chunk.length < block ? Buffer.concat([end, chunk]).subarray(-block) : chunk.subarray(-block);
      yield chunk;
    }
  })();
  for await (const { path, type, size, content } of readTar(watched, from)) {
    if (type !== "file" || size > longestJson) continue;
    const reader = createChunkReader(content);
    const head = await reader.take(1);
    if (head[0] === brace) files.set(path, Buffer.concat([head, await reader.take(size)]));
  }
  // Not every writer ends an archive; the builder does, and one without an end is half of one.
  if (end.some((byte) => byte !== 0)) throw broken(from, "it has no end");
  return files;
}

function broken(path: string, what: string, cause?: unknown): ImgmatchError {
  const message = `the builder wrote an image that is not whole: ${what}`;
  return new ImgmatchError({ code: "ENGINE_FAILED", message, at: { file: path } }, { cause });
}
