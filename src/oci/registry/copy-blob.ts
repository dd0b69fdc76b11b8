/** Writes blobs, copied or from memory (OCI distribution-spec, "Mounting a blob from another repository", "Pushing a blob in chunks"). */

import { unlessRefused } from "./advice.ts";
import type { BlobCopier, BlobWriter, RegistryClient } from "./client.ts";
import { apiHost, namedUrl, registryUrl } from "./registry-endpoint.ts";
import { digestMismatch, malformed, refused } from "./failure.ts";
import { registryLimits } from "../../io/limits.ts";
import type { Digest } from "../digest.ts";
import { digestOf } from "../digest-of.ts";
import type { ImageReference } from "../reference.ts";
import type { Advising, HttpRequest, HttpResponse, OperationOptions } from "./transport.ts";

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** Some storage accepts less than 5 MiB only at the end. */
const sentBytes = 8 * 1024 * 1024;

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

  /** The address to send the blob to; null if the registry has mounted it. */
  async function begin(from: ImageReference | null, to: ImageReference, digest: Digest): Promise<URL | null> {
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
    return nextUploadUrl(request, response);
  }

  async function upload(pieces: Pieces, to: ImageReference, digest: Digest, start: URL) {
    let url = start;
    let sent = 0;
    for await (const piece of pieces) {
      for (let at = 0; at < piece.byteLength; at += sentBytes) {
        const body = piece.subarray(at, at + sentBytes);
        const range = `${sent}-${sent + body.byteLength - 1}`;
        const headers = { "content-type": "application/octet-stream", "content-range": range };
        // A chunk is never repeated, as it may have arrived: the caller repeats the whole blob.
        const request = uploadRequest(to, "PATCH", url, { headers, body, once: true });
        const response = await send(request);
        if (response.status !== 202) throw refused(request, response);
        sent += body.byteLength;
        url = nextUploadUrl(request, response);
      }
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
      const url = await begin(from, to, digest);
      if (url === null) return "mounted";
      await upload(streamBlob(from, digest, size), to, digest, url);
      return "sent";
    },
    async writeBlob(repository, bytes) {
      const digest = digestOf(bytes);
      if (await isThere(repository, digest)) return digest;
      const url = await begin(null, repository, digest);
      if (url !== null) await upload([bytes], repository, digest, url);
      return digest;
    },
  };
}

/** A request that writes a blob. */
export function uploadRequest(
  to: ImageReference,
  method: HttpRequest["method"],
  url: URL,
  more: Pick<HttpRequest, "body" | "once"> & { readonly headers?: Readonly<Record<string, string>> } = {},
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
