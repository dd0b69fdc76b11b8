/** Writes blobs, copied or from memory (OCI distribution-spec, "Mounting a blob from another repository", "Pushing a blob in chunks"). */

import { goOn, type OperationOptions, taking } from "./ask.ts";
import type { BlobCopier, BlobWriter, RegistryClient } from "./client.ts";
import { apiHost, namedUrl, registryUrl } from "./registry-endpoint.ts";
import { malformed, requireStored } from "./failure.ts";
import { RegistryError } from "./registry-error.ts";
import { digestOf } from "../digest-of.ts";
import type { ImageReference } from "../reference.ts";
import { type HttpRequest, type HttpResponse, requestTo } from "./transport.ts";
import { type TryOptions, tryAgain } from "./try-again.ts";

type Copied = Awaited<ReturnType<BlobCopier["copyBlob"]>>;

/** A body that can be read again. */
type Blob = Parameters<BlobCopier["copyBlob"]>[2] & Pick<NonNullable<HttpRequest["stream"]>, "open">;

/** Some storage accepts less than 5 MiB only at the end; GHCR says that it takes no more than 4 (oras-project/rust-oci-client#35). */
const [usualChunk, smallChunk, mostChunk] = [8 * 2 ** 20, 4 * 2 ** 20, 256 * 2 ** 20];

type Options = OperationOptions & Pick<RegistryClient, "streamBlob"> & { readonly pace?: TryOptions };

export function copyOperations({ ask, plainHttp, streamBlob, pace }: Options): BlobCopier & BlobWriter {
  /** Hosts that want chunks, and of what size. */
  const chunked = new Map<string, number>();

  /** All at once, as docker does; in chunks where that has failed. */
  const write = async (blob: Blob, to: ImageReference, from?: ImageReference): Promise<Copied> => {
    const { digest, size } = blob;
    const url = registryUrl(to, "blobs", digest, plainHttp);
    const look = requestTo(to, url, { method: "HEAD", actions: "pull,push" });
    const { status, headers } = await ask(look, taking("a look", [200, 404]));
    // A proxy's page is there too.
    const isBlob = headers["docker-content-digest"] === digest || headers["content-length"] === `${size}`;
    if (status === 200 && isBlob) return "there";
    const isNear = from !== undefined && apiHost(from.registry) === apiHost(to.registry);
    const mount = isNear ? uploadStart(to, plainHttp, { mount: digest, from: from.repository }) : null;
    const mounted = mount && (await ask(mount, taking("an upload", [201, 202], "mount"), goOn));
    const begin = uploadStart(to, plainHttp);
    const start = mounted ?? (await ask(begin, taking("an upload", [202])));
    if (start.status === 201) return "mounted";
    // A registry that asks for more in memory is not believed.
    const least = Math.min(Number(start.headers["oci-chunk-min-length"]) || 0, mostChunk);
    const chunk = chunked.get(to.registry);
    let at = nextUploadUrl(begin, start);
    try {
      for await (const part of partsOf(blob, chunk && Math.max(chunk, least))) {
        // Never repeated, as it may have arrived: the caller repeats the whole blob.
        const patch = requestTo(to, at, { ...part, method: "PATCH", actions: "pull,push", once: true });
        at = nextUploadUrl(patch, await ask(patch, taking("an upload", [202])));
      }
    } catch (error) {
      const smaller = chunk === undefined ? chunkAfter(error) : null;
      if (smaller === null || smaller >= size) throw error;
      chunked.set(to.registry, smaller);
      return write(blob, to);
    }
    at.searchParams.set("digest", digest);
    const end: HttpRequest = { ...begin, method: "PUT", url: at, once: true };
    requireStored(end, digest, await ask(end, taking("a stored blob", [201])));
    return "sent";
  };

  return {
    copyBlob: (from, to, blob) =>
      write({ ...blob, open: () => streamBlob(from, blob.digest, blob.size) }, to, from),
    async writeBlob(repository, bytes) {
      const digest = digestOf(bytes);
      const blob = { digest, size: bytes.byteLength, open: () => [bytes] };
      await tryAgain(() => write(blob, repository), pace);
      return digest;
    },
  };
}

/** The whole blob, or chunks: all but the last have this size. */
async function* partsOf({ size, open }: Blob, chunk?: number): AsyncGenerator<Partial<HttpRequest>> {
  const headers = { "content-type": "application/octet-stream" };
  if (chunk === undefined) return yield { headers, stream: { size, open } };
  let [rest, sent] = [Buffer.of(), 0];
  for await (const piece of open()) {
    rest = Buffer.concat([rest, piece]);
    for (; rest.length >= Math.min(chunk, size - sent) && sent < size; rest = rest.subarray(chunk)) {
      const body = rest.subarray(0, chunk);
      yield { headers: { ...headers, "content-range": `${sent}-${sent + body.length - 1}` }, body };
      sent += body.length;
    }
  }
}

/** The size of chunks to go on with after a failure; null if chunks are no cure. */
function chunkAfter(error: unknown): number | null {
  if (!(error instanceof RegistryError)) return null;
  const { status, errors } = error;
  if (status === null ? !error.temporary : status !== 413 && status !== 416) return null;
  return errors.some(({ message }) => /\b4(\.0+)? ?Mi?B\b/.test(message)) ? smallChunk : usualChunk;
}

/** Begins an upload, or mounts a blob in place of it. */
export function uploadStart(to: ImageReference, plainHttp: Options["plainHttp"], mount = {}): HttpRequest {
  const url = registryUrl(to, "blobs", `uploads/?${new URLSearchParams(mount)}`, plainHttp);
  return requestTo(to, url, { method: "POST", actions: "pull,push", body: new Uint8Array() });
}

/** Where an upload goes on. */
export function nextUploadUrl(request: HttpRequest, { headers: { location } }: HttpResponse): URL {
  const url = namedUrl(location, request.url);
  const { protocol, hostname } = request.url;
  if (url !== null && (url.protocol === "https:" || (url.protocol === protocol && url.hostname === hostname)))
    return url;
  const named = JSON.stringify(location ?? "");
  throw malformed(request, `sends an upload to ${named}, which is not an address of this registry`);
}
