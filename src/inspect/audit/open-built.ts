/** Opens a built image at its engine: its own layers if the base's are known, else all of them. */

import { faultOf } from "../../errors.ts";
import type { BuildWatch, BuiltImage, ImageHolder } from "../../oci/engine/built-image.ts";
import { withTemporaryFolder } from "../../io/temporary-folder.ts";
import { remember } from "../../io/collections.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { receivePush } from "../../oci/registry/push-receiver.ts";
import { openFromArchive } from "../image/from-archive.ts";
import { openFromRegistry } from "../image/from-registry.ts";
import type { LayerCache } from "../image/layer-cache.ts";
import type { OpenedImage, OpenOptions } from "../image/open-layers.ts";

export interface OpenerOptions {
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
  options: OpenerOptions,
): (subject: BuiltSubject, watch: BuildWatch) => Promise<OpenedImage> {
  const { registry, holder, cache } = options;
  const bases = new Map<string, Promise<KnownBase | null>>();
  return async (subject, watch) => {
    const { cell, image, base, platform } = subject;
    const whole = () => openFromArchive(holder.save(image, watch), cell, "engine", { platform, cache });
    if (holder.push === null || base === null) return whole();
    const key = `${formatImageReference(base)} ${platform}`;
    const known = await remember(bases, key, () => knownBase(registry, base, { platform, cache }));
    const maxBytes = known === null ? null : ownBytes(image, known);
    if (known === null || maxBytes === null) return whole();
    const means = { push: holder.push, cache: withBase(cache, known), maxBytes };
    const own = await openByPush(registry, means, subject, watch).catch((error: unknown) => {
      watch.signal.throwIfAborted();
      watch.onLog(`opened as a whole: ${faultOf(error)}`);
      return null;
    });
    return own ?? whole();
  };
}

interface KnownBase {
  /** Unpacked bytes. */
  readonly size: number;
  /** Diff id → the layer as its registry has it: some engines push layers as they lie in their store, uncompressed. */
  readonly layers: ReadonlyMap<string, Digest>;
}

async function knownBase(
  registry: OpenerOptions["registry"],
  base: ImageReference,
  options: OpenOptions,
): Promise<KnownBase | null> {
  const opened = await openFromRegistry(registry, base, options).catch(() => null);
  if (opened === null) return null;
  const layers = new Map<string, Digest>();
  for (const [index, { digest }] of opened.layers.entries()) {
    if (digest === null || (await options.cache.find(digest)) === null) return null;
    const diffId = opened.diffIds?.[index];
    if (diffId !== undefined && opened.diffIds?.length === opened.layers.length) layers.set(diffId, digest);
  }
  return { layers, size: opened.layers.reduce((sum, { size }) => sum + size, 0) };
}

/** The most that a push may bring; null where an export of the whole image is faster. */
function ownBytes({ size }: BuiltImage, base: KnownBase): number | null {
  // If the engine does not tell, more than the base has would be no gain.
  if (size === null) return Math.max(slack, base.size / pushIsSlower);
  const own = Math.max(0, size - base.size);
  return own * pushIsSlower > size ? null : own + slack;
}

/** An engine verifies a pulled base's layers against the diff ids of the configuration. So layers with these diff ids in our image are the base's. */
function withBase(cache: LayerCache, { layers }: KnownBase): LayerCache {
  return {
    ...cache,
    async find(digest) {
      const inBase = layers.get(digest);
      return (await cache.find(digest)) ?? (inBase === undefined ? null : cache.find(inBase));
    },
  };
}

interface PushMeans {
  readonly push: NonNullable<ImageHolder["push"]>;
  readonly cache: LayerCache;
  readonly maxBytes: number;
}

async function openByPush(
  registry: OpenerOptions["registry"],
  { push, cache, maxBytes }: PushMeans,
  { cell, image, platform }: BuiltSubject,
  { signal, onLog }: BuildWatch,
): Promise<OpenedImage> {
  return withTemporaryFolder(async (folder) => {
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
      onLog(`opened: ${receiver.known.size} of ${opened.layers.length} layers were known, and did not come`);
      return { ...opened, source: "engine", name: cell };
    } finally {
      await receiver.close();
    }
  });
}
