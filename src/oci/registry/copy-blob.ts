/** Writes blobs, copied or from memory (OCI distribution-spec, "Mounting a blob from another repository", "Pushing a blob in chunks"). */

import { unlessRefused } from "./advice.ts";
import type { BlobCopier, BlobWriter, RegistryClient } from "./client.ts";
import { apiHost, namedUrl, registryUrl } from "./registry-endpoint.ts";
import { digestMismatch, malformed, refused } from "./failure.ts";
import { RegistryError } from "./registry-error.ts";
import { registryLimits } from "../../io/limits.ts";
import type { Digest } from "../digest.ts";
import { digestOf } from "../digest-of.ts";
import type { ImageReference } from "../reference.ts";
import type { Advising, HttpRequest, HttpResponse, OperationOptions, Send } from "./transport.ts";

type Pieces = AsyncIterable<Uint8Array>;

/** A body that can be read again. */
interface Blob {
  readonly digest: Digest;
  readonly size: number;
  readonly open: () => Pieces;
}

/** Where to send a blob to, and the least bytes of a chunk that is not the last. */
interface Upload {
  readonly url: URL;
  readonly least: number;
}

/** Some storage accepts less than 5 MiB only at the end. */
const usualChunk = 8 * 1024 * 1024;
/** GHCR takes no more at once (oras-project/rust-oci-client#35). */
const smallChunk = 4 * 1024 * 1024;

/** A registry that asks for more in memory is not believed. */
const mostChunk = 256 * 1024 * 1024;

const advising: Advising = {
  on: "mount",
  wants: "an upload",
  isAnswer: ({ status }) => status === 201 || status === 202,
};

export function copyOperations({
  send,
  plainHttp,
  streamBlob,
}: OperationOptions & Pick<RegistryClient, "streamBlob">): BlobCopier & BlobWriter {
  async function isThere(to: ImageReference, digest: Digest): Promise<boolean> {
    const request = uploadRequest(to, "HEAD", registryUrl(to, "blobs", digest, plainHttp));
    const response = await send(request);
    if (response.status !== 200 && response.status !== 404) throw refused(request, response);
    return response.status === 200;
  }

  /** null if the registry has mounted the blob. */
  async function begin(
    from: ImageReference | null,
    to: ImageReference,
    digest: Digest,
  ): Promise<Upload | null> {
    const url = registryUrl(to, "blobs", "uploads/", plainHttp);
    const isMount = from !== null && apiHost(from.registry) === apiHost(to.registry);
    if (isMount) {
      url.searchParams.set("mount", digest);
      url.searchParams.set("from", from.repository);
    }
    const plain = uploadRequest(to, "POST", url, { body: new Uint8Array() });
    const request = isMount ? { ...plain, advises: advising } : plain;
    const response = await unlessRefused(send(request), () => null);
    if (response === null) return begin(null, to, digest);
    if (response.status === 201) return null;
    if (response.status !== 202) throw refused(request, response);
    const least = Number(response.headers["oci-chunk-min-length"] ?? 0);
    return { url: nextUploadUrl(request, response), least: least > 0 && least <= mostChunk ? least : 0 };
  }

  async function sendChunks({ open }: Blob, to: ImageReference, { url, least }: Upload, size: number) {
    let at = url;
    let sent = 0;
    for await (const body of chunksOf(open(), Math.max(size, least))) {
      const range = `${sent}-${sent + body.byteLength - 1}`;
      at = await patch(send, to, at, { body, headers: { "content-range": range } });
      sent += body.byteLength;
    }
    return at;
  }

  /** Hosts that want chunks, and of what size. */
  const chunked = new Map<string, number>();

  /** All at once, as docker does; in chunks where that has failed. */
  async function upload(blob: Blob, to: ImageReference, start: Upload): Promise<void> {
    const { digest, size, open } = blob;
    let url: URL;
    try {
      const chunk = chunked.get(to.registry);
      url =
        chunk === undefined
          ? await patch(send, to, start.url, { stream: { size, open } })
          : await sendChunks(blob, to, start, chunk);
    } catch (error) {
      const chunk = nextChunk(error, chunked.get(to.registry) ?? size);
      if (chunk === null) throw error;
      chunked.set(to.registry, chunk);
      const again = await begin(null, to, digest);
      return again === null ? undefined : upload(blob, to, again);
    }
    url.searchParams.set("digest", digest);
    const request = uploadRequest(to, "PUT", url, { body: new Uint8Array(), once: true });
    const response = await send(request);
    if (response.status !== 201) throw refused(request, response);
    const stored = response.headers["docker-content-digest"];
    if (stored !== undefined && stored !== digest)
      throw digestMismatch(request, `expected ${digest}, the registry has stored ${stored}`);
  }

  return {
    async copyBlob(from, to, { digest, size }) {
      if (await isThere(to, digest)) return "there";
      const start = await begin(from, to, digest);
      if (start === null) return "mounted";
      await upload({ digest, size, open: () => streamBlob(from, digest, size) }, to, start);
      return "sent";
    },
    async writeBlob(repository, bytes) {
      const digest = digestOf(bytes);
      if (await isThere(repository, digest)) return digest;
      const start = await begin(null, repository, digest);
      const open = async function* () {
        yield bytes;
      };
      if (start !== null) await upload({ digest, size: bytes.byteLength, open }, repository, start);
      return digest;
    },
  };
}

/** Sends a piece of the blob, or all of it, and answers where to go on. */
async function patch(
  send: Send,
  to: ImageReference,
  url: URL,
  more: Parameters<typeof uploadRequest>[3],
): Promise<URL> {
  const headers = { "content-type": "application/octet-stream", ...more?.headers };
  // Never repeated, as it may have arrived: the caller repeats the whole blob.
  const request = uploadRequest(to, "PATCH", url, { ...more, headers, once: true });
  const response = await send(request);
  if (response.status !== 202) throw refused(request, response);
  return nextUploadUrl(request, response);
}

/** The size of chunks to go on with after a failure; null if smaller ones are no cure. */
function nextChunk(error: unknown, sent: number): number | null {
  if (!(error instanceof RegistryError)) return null;
  const isTooLong = error.status === 413 || error.status === 416;
  const isCut = error.status === null && error.temporary;
  const saysSmall = error.errors.some(({ message }) => /\b4(\.0+)? ?Mi?B\b/.test(message));
  if (isTooLong && (saysSmall || sent === usualChunk) && sent > smallChunk) return smallChunk;
  return (isTooLong || isCut) && sent > usualChunk ? usualChunk : null;
}

/** Joins and cuts pieces: all but the last have this size. */
async function* chunksOf(pieces: Pieces, size: number): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    rest.push(piece);
    length += piece.byteLength;
    if (length < size) continue;
    const all = rest.length === 1 ? piece : Buffer.concat(rest);
    let at = 0;
    for (; length - at >= size; at += size) yield all.subarray(at, at + size);
    rest = at === length ? [] : [all.subarray(at)];
    length -= at;
  }
  if (length > 0) yield Buffer.concat(rest);
}

/** A request that writes a blob. */
export function uploadRequest(
  to: ImageReference,
  method: HttpRequest["method"],
  url: URL,
  more: Pick<HttpRequest, "body" | "stream" | "once"> & {
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): HttpRequest {
  return {
    method,
    url,
    maxBytes: registryLimits.manifestBytes,
    scope: { repository: to.repository, actions: "pull,push" },
    ...more,
    headers: { "user-agent": "imgmatch", ...more.headers },
  };
}

/** Where an upload goes on. */
export function nextUploadUrl(request: HttpRequest, { headers: { location } }: HttpResponse): URL {
  const url = namedUrl(location, request.url);
  const isSafe =
    url !== null &&
    (url.protocol === "https:" ||
      (url.protocol === request.url.protocol && url.hostname === request.url.hostname));
  if (!isSafe)
    throw malformed(
      request,
      `sends an upload to ${JSON.stringify(location ?? "")}, which is not an address of this registry`,
    );
  return url;
}
