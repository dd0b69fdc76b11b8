/** Keeps opened layers by their digest: a base that many images share is opened once. */

import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { makeFolders } from "../../io/folders.ts";
import { findWritableByOthers } from "../../io/writable-by-others.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { LayerInspection } from "./layer.ts";

/** Raise it when the findings change: older entries are not read. */
const analyserVersion = 32;

export interface LayerCache {
  find(digest: Digest): Promise<LayerInspection | null>;
  /** Does nothing if the cache cannot be written. */
  keep(digest: Digest, layer: LayerInspection): Promise<void>;
}

export const noCache: LayerCache = { find: async () => null, keep: async () => {} };

/** `XDG_CACHE_HOME/imgmatch`, by default below `~/.cache`. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "imgmatch");
}

const maxUnpacked = 512 * 2 ** 20;

/** A folder that others may write is not read: an entry without a feature would let an image run on hosts on which it crashes. */
export function folderCache(folder: string, gpuAlone = false): LayerCache {
  const layers = join(folder, `layers-${analyserVersion}${gpuAlone ? "-gpu" : ""}`);
  const fileOf = (digest: Digest) => join(layers, `${digest.slice("sha256:".length)}.gz`);
  return {
    async find(digest) {
      const file = fileOf(digest);
      try {
        if (findWritableByOthers([file, layers, folder]) !== null) return null;
        const bytes = await promisify(gunzip)(await readFile(file), { maxOutputLength: maxUnpacked });
        return unsealed(bytes.toString("utf8"));
      } catch {
        // Without a readable entry the layer is opened again.
        return null;
      }
    },
    async keep(digest, layer) {
      const file = fileOf(digest);
      const draft = `${file}.${randomUUID()}`;
      try {
        // The umask must not let others write: the entry would not be read again.
        makeFolders(layers, 0o755);
        await writeFile(draft, await promisify(gzip)(sealed(layer)), { mode: 0o644 });
        await rename(draft, file);
      } catch {
        await rm(draft, { force: true }).catch(() => {});
      }
    },
  };
}

/** Begins with the digest of its JSON, so that a damaged entry is not read. */
function sealed(layer: LayerInspection): string {
  const json = JSON.stringify(layer);
  return `${digestOf(json)}\n${json}`;
}

function unsealed(text: string): LayerInspection | null {
  const end = text.indexOf("\n");
  const json = text.slice(end + 1);
  return text.slice(0, end) === digestOf(json) ? JSON.parse(json) : null;
}
