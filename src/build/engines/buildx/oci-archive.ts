/** An OCI image layout inside a tar archive (OCI image-spec, `image-layout.md`): only its small files are read. */

import { type FileHandle, open } from "node:fs/promises";
import { ImgmatchError } from "../../../errors.ts";

const block = 512;
/** No index, manifest or configuration is longer; what is, is a layer. */
const longestJson = 4 * 1024 * 1024;

/** The configuration of the archive's one image. */
export async function readArchivedConfig(path: string): Promise<unknown> {
  const file = await open(path, "r");
  try {
    const places = await placesOf(file);
    const read = async (name: string): Promise<Record<string, unknown>> => {
      const place = places.get(name);
      if (place === undefined || place.size > longestJson) throw broken(path, `${name} is not there`);
      const { buffer } = await file.read(Buffer.alloc(place.size), 0, place.size, place.start);
      return JSON.parse(buffer.toString("utf8")) as Record<string, unknown>;
    };
    const blob = (descriptor: unknown) =>
      read(`blobs/${String((descriptor as { digest?: unknown } | undefined)?.digest).replace(":", "/")}`);
    let json = await read("index.json");
    while (Array.isArray(json.manifests)) json = await blob(json.manifests[0]);
    return await blob(json.config);
  } finally {
    await file.close();
  }
}

/** Name → where its bytes are. */
async function placesOf(
  file: FileHandle,
): Promise<Map<string, { readonly start: number; readonly size: number }>> {
  const places = new Map<string, { start: number; size: number }>();
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(block), 0, block, at);
    if (bytesRead < block || buffer[0] === 0) return places;
    const name = buffer.toString("utf8", 0, 100).replace(/\0.*$/s, "");
    const size = Number.parseInt(buffer.toString("latin1", 124, 135), 8) || 0;
    places.set(name, { start: at + block, size });
    at += block + Math.ceil(size / block) * block;
  }
}

function broken(path: string, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `the builder wrote an image without its parts: ${what}`,
    at: { file: path },
  });
}
