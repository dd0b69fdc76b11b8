/**
 * Writes a tag that several publishers may write at once: registries have no conditional write. A publisher
 *
 * 1. looks at the tag and decides what to write;
 * 2. announces itself before its first write, by a transient tag (`announcement.ts`), and looks again;
 * 3. writes, and goes back to 1, until there is nothing to write;
 * 4. takes its announcement back;
 * 5. ends if no other announcement stands and the tag holds what it saw last, or if the tag has not changed for `settleMs`. Else it goes
 *    back to 1.
 *
 * So nobody can write anything else after the end. An announcement stands until its publisher will not write again, and each of its writes
 * has taken effect or never will: if no other stands, no write is on its way, and whoever announces itself later sees what the tag holds
 * now. A publisher that was killed leaves its announcement: a write of its that came later than `settleMs` would rest on an older look.
 */

import { ImgmatchError } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { Manifest } from "../../oci/descriptor.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { mostRetries, type Sleep, waitAfter, waitFor } from "../../oci/registry/try-again.ts";
import { type Announcement, announce, othersStand, retire, silent, withdraw } from "./announcement.ts";

export interface Pace {
  /**
   * The longest time from a publisher's last look to the effect of the publisher's write, in milliseconds. Default: 5,000. A publisher that
   * was killed is waited for so long.
   */
  readonly settleMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For tests. */
  readonly sleep?: Sleep | undefined;
}

export interface TagWriter<Held extends { readonly digest: Digest }> extends Pace {
  readonly registry: RegistryClient;
  readonly reference: ImageReference;
  /** Reads the content of the tag, or null if there is no such tag. Throws if it is somebody else's. */
  readonly look: () => Promise<Held | null>;
  /**
   * The content to write in its place, after the manifests below; null to leave it as it is. `written`: how often the registry has accepted a
   * write of this publisher.
   */
  readonly next: (held: Held | null, written: number) => Writing | null;
}

export interface Writing {
  readonly manifest: Manifest;
  readonly parts?: readonly Manifest[];
  /** Work to do when the parts are there and the tag does not name them yet. */
  readonly before?: (() => Promise<void>) | undefined;
}

const pollMs = 100;
const mostWrites = 50;
const mostGlances = 5;
/** So many looks one after the other may fail while a publisher waits for the end: it has written, or has nothing to write. */
const mostFailedLooks = 5;
/** After these a write counts as lost. */
const mostLateLooks = 20;

/**
 * Answers what the tag holds at the end; null if there is no such tag and nothing was to be written.
 *
 * @param own what the publisher has announced already; it stands no more at the end
 */
export async function writeTag<Held extends { readonly digest: Digest }>(
  writer: TagWriter<Held>,
  own: Announcement = silent(writer.reference),
): Promise<Held | null> {
  try {
    return await writeUntilSettled(writer, own);
  } finally {
    await withdraw(writer.registry, own, { signal: writer.signal, sleep: writer.sleep });
  }
}

async function writeUntilSettled<Held extends { readonly digest: Digest }>(
  writer: TagWriter<Held>,
  own: Announcement,
): Promise<Held | null> {
  const { registry, reference, look, next, signal, settleMs = 5000, sleep = waitFor } = writer;
  const pace = { signal, sleep };
  let written = 0;
  let seen: Digest | null = null;
  let since = 0;
  let replaced: Digest | null = null;
  let lateLooks = 0;
  let failedLooks = 0;
  const poll = () => sleep(pollMs * (0.5 + Math.random() / 2), signal);
  const write = tagWrite(writer, own);
  for (;;) {
    signal?.throwIfAborted();
    const lookedAt = performance.now();
    let held: Held | null;
    try {
      held = await look();
      failedLooks = 0;
    } catch (error) {
      const waits = written > 0 || seen !== null;
      if (!(error instanceof RegistryError) || !waits || ++failedLooks > mostFailedLooks) throw error;
      await poll();
      continue;
    }
    const wanted = next(held, written);
    if (wanted !== null) {
      seen = null;
      if (own.standsAt === null) {
        await announce(registry, own, pace);
        continue;
      }
      if (written >= mostWrites) throw unsettled(reference);
      const now = held?.digest ?? null;
      // The registry may show the new content a while later.
      if (written > 0 && now === replaced && lateLooks++ < mostLateLooks) {
        await poll();
        continue;
      }
      if (await write(wanted, held, lookedAt)) {
        written++;
        replaced = now;
        lateLooks = 0;
      }
      continue;
    }
    if (held === null) return null;
    if (seen !== held.digest) {
      seen = held.digest;
      since = performance.now();
    }
    write.sawDigest(held.digest);
    const isBusy = lookedAt < own.busyUntil;
    if (!isBusy) {
      if (lookedAt - since >= settleMs) return held;
      await retire(registry, own, pace);
      if (await standsAlone(writer, own, held.digest)) return held;
    }
    await poll();
  }
}

/** No other publisher may still write, and the tag holds what was seen. Where the registry fails to say so, only time can tell. */
async function standsAlone<Held extends { readonly digest: Digest }>(
  { registry, reference }: TagWriter<Held>,
  own: Announcement,
  seen: Digest,
): Promise<boolean> {
  try {
    if (await othersStand(registry, own, seen)) return false;
    return (await registry.findManifest(reference))?.digest === seen;
  } catch (error) {
    if (error instanceof RegistryError) return false;
    throw error;
  }
}

function tagWrite<Held extends { readonly digest: Digest }>(
  { registry, reference, look, next, signal, settleMs = 5000, sleep = waitFor }: TagWriter<Held>,
  own: Announcement,
) {
  const unclear: Digest[] = [];
  const sent: Digest[] = [];
  let failures = 0;

  /** Answers whether the registry has accepted it. Throws if another try is no use. */
  async function write(
    { manifest, parts = [], before }: Writing,
    held: Held | null,
    lookedAt: number,
  ): Promise<boolean> {
    for (const part of parts)
      await registry.writeManifest({ ...reference, tag: null, digest: part.digest }, part);
    await before?.();
    if (!(await isStill(held?.digest ?? null, lookedAt))) return false;
    try {
      await registry.writeManifest({ ...reference, digest: null }, manifest);
      failures = 0;
      sent.push(manifest.digest);
      return true;
    } catch (error) {
      if (error instanceof RegistryError && error.unclear) {
        sent.push(manifest.digest);
        unclear.push(manifest.digest);
        own.busyUntil = performance.now() + settleMs;
      }
      if (error instanceof RegistryError && error.temporary) {
        if (++failures > mostRetries) throw error;
        await sleep(waitAfter(error, failures), signal);
        return false;
      }
      // Registries with immutable tags refuse the second writer: then what the first has put there counts.
      const now = await look();
      if (now === null || next(now, 0) !== null) throw error;
      return false;
    }
  }

  /** A look that took long, or parts that did, is confirmed by a glance: others wait for a write no longer than `settleMs`. */
  async function isStill(held: Digest | null, lookedAt: number): Promise<boolean> {
    for (let at = lookedAt, glances = 0; performance.now() - at > settleMs / 2; glances++) {
      if (glances === mostGlances) throw tooSlow(reference, settleMs);
      at = performance.now();
      if (((await registry.findManifest(reference))?.digest ?? null) !== held) return false;
    }
    return true;
  }

  /** A write whose answer was lost has taken effect, unless the tag shows another publisher's write. */
  function sawDigest(digest: Digest): void {
    const isItsOwn = unclear.length === 1 && unclear[0] === digest;
    if (!isItsOwn || sent.filter((each) => each === digest).length !== 1) return;
    unclear.length = 0;
    own.busyUntil = 0;
  }

  return Object.assign(write, { sawDigest });
}

function unsettled(reference: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `${formatImageReference(reference)} lost its new content ${mostWrites} times`,
    fix: "look for another publisher that writes without imgmatch, and at the registry's clean-up rules",
  });
}

function tooSlow(reference: ImageReference, settleMs: number): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${formatImageReference(reference)} needed more than ${settleMs / 2000} s, ${mostGlances} times, to read the tag: too long to write it safely`,
    fix: "try again when the registry or the way to it is faster",
  });
}
