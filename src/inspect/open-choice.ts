/** The options of commands that open images: the platform and the progress. */

import type { Watching, World } from "../io/world.ts";
import { cacheFolder, folderCache } from "./image/layer-cache.ts";
import type { OpenOptions, OpenProgress } from "./image/open-layers.ts";

export interface OpenChoice {
  /** The image of an index to open. Default: the platform of this machine. */
  readonly platform?: string;
}

export interface OpenEvent extends OpenProgress {
  readonly type: "open";
}

export function openOptions(
  { platform = ownPlatform(), onEvent }: OpenChoice & Watching<OpenEvent>,
  { env }: World,
): OpenOptions {
  return {
    platform,
    cache: folderCache(cacheFolder(env)),
    onProgress: (progress) => onEvent?.({ type: "open", ...progress }),
  };
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ppc64: "ppc64le" };

/** `linux/amd64`: the architecture of this machine, whatever its system. */
function ownPlatform(): string {
  return `linux/${architectures[process.arch] ?? process.arch}`;
}
