/** A built image, opened at its engine: its own layers where the base's are known, else all of it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildWatch, BuiltImage, Engine } from "../../build/engine.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../registry/client.ts";
import { receivePush } from "../../registry/push-receiver.ts";
import { openFromArchive } from "../image/from-archive.ts";
import { openFromRegistry } from "../image/from-registry.ts";
import type { LayerCache } from "../image/layer-cache.ts";
import type { OpenedImage, OpenOptions } from "../image/opened-image.ts";

/** What an engine's image is read by. */
export interface ImageHolder {
  readonly save: Engine["save"];
  /** null where what it pushes to a loopback address does not come to this machine. */
  readonly push: Engine["push"] | null;
}

export interface BuiltOpenerOptions {
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
  readonly holder: ImageHolder;
  readonly cache: LayerCache;
}

export interface BuiltSubject {
  readonly cell: string;
  readonly image: BuiltImage;
  readonly base: ImageReference | null;
  readonly platform: string;
}

/** A push compresses what it sends: about three times as slow as an export that compresses nothing. */
const pushIsSlower = 3;
const slack = 64 * 2 ** 20;

/** Throws what the engine throws, and `IMAGE_INVALID`. */
export function builtImageOpener(
  options: BuiltOpenerOptions,
): (subject: BuiltSubject, watch: BuildWatch) => Promise<OpenedImage> {
  const { registry, holder, cache } = options;
  const bases = new Map<string, Promise<number | null>>();
  return async (subject, watch) => {
    const { cell, image, base, platform } = subject;
    const whole = () => openFromArchive(holder.save(image, watch), cell, "engine", { platform, cache });
    if (holder.push === null || base === null || image.size === null) return whole();
    const key = `${formatImageReference(base)} ${platform}`;
    const asked = bases.get(key) ?? knownSize(registry, base, { platform, cache });
    bases.set(key, asked);
    const baseSize = await asked;
    const ownSize = baseSize === null ? 0 : Math.max(0, image.size - baseSize);
    if (baseSize === null || ownSize * pushIsSlower > image.size) return whole();
    const maxBytes = ownSize + slack;
    const own = await openByPush(options, holder.push, subject, maxBytes, watch).catch((error: unknown) => {
      watch.signal.throwIfAborted();
      watch.onLog(`opened as a whole: ${error instanceof Error ? error.message : error}`);
      return null;
    });
    return own ?? whole();
  };
}

/** Unpacked bytes of a base whose layers are all known from now on; null where they are not, for whatever reason. */
async function knownSize(
  registry: BuiltOpenerOptions["registry"],
  base: ImageReference,
  options: OpenOptions,
): Promise<number | null> {
  const opened = await openFromRegistry(registry, base, options).catch(() => null);
  if (opened === null) return null;
  for (const { digest } of opened.layers)
    if (digest === null || (await options.cache.find(digest)) === null) return null;
  return opened.layers.reduce((sum, { size }) => sum + size, 0);
}

async function openByPush(
  { registry, cache }: BuiltOpenerOptions,
  push: Engine["push"],
  { cell, image, platform }: BuiltSubject,
  maxBytes: number,
  { signal, onLog }: BuildWatch,
): Promise<OpenedImage> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-open-"));
  const tooMuch = new AbortController();
  const receiver = await receivePush({
    folder,
    isKnown: async (digest) => (await cache.find(digest)) !== null,
    maxBytes,
    onTooMuch: () => tooMuch.abort(new Error("the engine sends layers of the base too")),
  });
  try {
    const both = AbortSignal.any([signal, tooMuch.signal]);
    const digest = await push(image, receiver.reference, { signal: both, onLog });
    const pushed = withDigest(receiver.reference, digest);
    const opened = await openFromRegistry(registry, pushed, { platform, cache });
    if (opened === null) throw new Error("the engine did not push what it says");
    return { ...opened, source: "engine", name: cell };
  } finally {
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  }
}
