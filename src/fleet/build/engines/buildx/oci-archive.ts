/** An OCI image layout inside a tar archive (OCI image-spec, `image-layout.md`): only its small files are kept. */

import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { ImgmatchError } from "../../../../errors.ts";
import { systemProblem } from "../../../../io/system-error.ts";

type Json = Readonly<Record<string, unknown>>;

const mebi = 1024 * 1024;
/** No index, manifest or configuration is longer; what is, is a layer. */
const longestJson = 4 * mebi;
/** A layout has one or two levels of indexes: more is a circle. */
const deepest = 8;
const brace = "{".charCodeAt(0);

/** The configuration of the archive's one image. Throws `ENGINE_FAILED` for what is no whole archive. */
export async function readArchivedConfig(path: string): Promise<unknown> {
  return configOf(createReadStream(path, { highWaterMark: mebi }), path);
}

/** @param from what errors name */
export async function configOf(archive: AsyncIterable<Uint8Array>, from: string): Promise<unknown> {
  const files = await smallFiles(archive, from);
  const read = (name: string): Json => {
    const bytes = files.get(name);
    if (bytes === undefined) throw broken(from, `${name} is not there`);
    return parse(bytes, name, from);
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
  try {
    // Not strict, the library takes a damaged header for something to skip, and half an archive for a whole one.
    const decoder = createTarDecoder({ strict: true });
    for await (const { header, body } of Readable.toWeb(Readable.from(archive)).pipeThrough(decoder)) {
      checkSize(header, from);
      const bytes = header.type === "file" && header.size <= longestJson ? await jsonBytes(body) : null;
      if (bytes === null) await body.cancel();
      else files.set(header.name, bytes);
    }
  } catch (error) {
    throw systemProblem(error) ?? broken(from, error instanceof Error ? error.message : String(error), error);
  }
  return files;
}

/** The library goes on with the header's own size, which is 0 above 8 GiB, where a pax record's is no number. */
function checkSize({ name, size, pax }: ParsedTarEntry["header"], from: string): void {
  const said = pax?.size;
  if (said !== undefined && said !== String(size)) {
    throw broken(from, `${name} says that its size is ${JSON.stringify(said.slice(0, 40))}`);
  }
}

/** All of it where it begins as an object does, else null: small layers are not kept. */
async function jsonBytes(body: ReadableStream<Uint8Array>): Promise<Uint8Array | null> {
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (chunks.length === 0 && next.value[0] !== brace) {
      reader.releaseLock();
      return null;
    }
    chunks.push(next.value);
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Uint8Array, name: string, from: string): Json {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as Json;
  } catch (error) {
    throw broken(from, `${name} is no JSON`, error);
  }
}

function broken(path: string, what: string, cause?: unknown): ImgmatchError {
  return new ImgmatchError(
    {
      code: "ENGINE_FAILED",
      message: `the builder wrote an image that is not whole: ${what}`,
      at: { file: path },
    },
    { cause },
  );
}
