/** Opened layers by their digest: a base that many images share is opened once. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { randomUUID } from "node:crypto";
import type { Digest } from "../../oci/digest.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import type { LayerInspection } from "./layer.ts";

/** Grows with every change of what is found: an older answer is not one. */
export const analyserVersion = 8;

export interface LayerCache {
  find(digest: Digest): Promise<LayerInspection | null>;
  /** A cache that cannot be written is none, and no error. */
  keep(digest: Digest, layer: LayerInspection): Promise<void>;
}

export const noCache: LayerCache = { find: async () => null, keep: async () => {} };

/** `XDG_CACHE_HOME/imgmatch`, by default below `~/.cache`. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "imgmatch");
}

const maxUnpacked = 512 * 2 ** 20;

export function folderCache(folder: string): LayerCache {
  const own = join(folder, `layers-${analyserVersion}`);
  const fileOf = (digest: Digest) => join(own, `${digest.slice("sha256:".length)}.json.gz`);
  return {
    async find(digest) {
      try {
        const bytes = await promisify(gunzip)(await readFile(fileOf(digest)), {
          maxOutputLength: maxUnpacked,
        });
        const json = parseJson(bytes);
        return isRecord(json) && Array.isArray(json.changes) ? (json as unknown as LayerInspection) : null;
      } catch {
        // Not there, or not readable: the layer is opened again.
        return null;
      }
    },
    async keep(digest, layer) {
      const file = fileOf(digest);
      const draft = `${file}.${randomUUID()}`;
      try {
        await mkdir(own, { recursive: true });
        await writeFile(draft, await promisify(gzip)(JSON.stringify(layer)));
        await rename(draft, file);
      } catch {
        await rm(draft, { force: true }).catch(() => {});
      }
    },
  };
}
