/** Reads, writes and removes manifests and tags. */

import { ImgmatchError, InternalError } from "../../errors.ts";
import { type Digest, isDigest } from "../digest.ts";
import { digestOf } from "../digest-of.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { acceptedTypes, isMediaType } from "../media-types.ts";
import { formatImageReference, type ImageReference } from "../reference.ts";
import type { RegistryClient } from "./client.ts";
import type { Manifest, ManifestDescriptor } from "../descriptor.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { digestMismatch, malformed, refused } from "./failure.ts";
import { registryLimits } from "../../io/limits.ts";
import type { Advising, HttpRequest, HttpResponse, OperationOptions } from "./transport.ts";

type ManifestOperations = Pick<
  RegistryClient,
  "findManifest" | "readManifest" | "writeManifest" | "removeTag" | "removeManifest"
>;

type ReadOptions = NonNullable<Parameters<RegistryClient["readManifest"]>[1]>;

const advising: Advising = {
  on: "attached",
  wants: "a manifest",
  isAnswer: ({ status, body }) => status === 404 || (status === 200 && isRecord(parseJson(body))),
};

export function manifestOperations({ send, plainHttp }: OperationOptions): ManifestOperations {
  function requestFor(reference: ImageReference, method: HttpRequest["method"], name: string): HttpRequest {
    return {
      method,
      url: registryUrl(reference, "manifests", name, plainHttp),
      headers: { accept: acceptedTypes, "accept-encoding": "identity", "user-agent": "imgmatch" },
      maxBytes: registryLimits.manifestBytes,
      scope: {
        repository: reference.repository,
        actions: method === "DELETE" ? "delete,pull" : method === "PUT" ? "pull,push" : "pull",
      },
    };
  }

  async function findManifest(reference: ImageReference): Promise<ManifestDescriptor | null> {
    const request = requestFor(reference, "HEAD", nameToRead(reference));
    const response = await send(request);
    if (response.status === 404) return null;
    // 405: some proxies know only GET.
    if (response.status !== 200 && response.status !== 405) throw refused(request, response);
    const described = response.status === 200 ? describedBy(response) : null;
    if (described === null) {
      const manifest = await readManifest(reference);
      return manifest && descriptorOf(manifest);
    }
    if (reference.digest !== null) checkEqual(request, reference.digest, described.digest);
    return described;
  }

  async function readManifest(
    reference: ImageReference,
    { advises = false, size = registryLimits.manifestBytes }: ReadOptions = {},
  ): Promise<Manifest | null> {
    const maxBytes = Math.min(size, registryLimits.manifestBytes);
    const asked = { ...requestFor(reference, "GET", nameToRead(reference)), maxBytes };
    const request = advises ? { ...asked, advises: advising } : asked;
    const response = await send(request);
    if (response.status === 404) return null;
    if (response.status !== 200) throw refused(request, response);
    const bytes = response.body;
    const digest = digestOf(bytes);
    const promised = response.headers["docker-content-digest"];
    if (reference.digest !== null) checkEqual(request, reference.digest, digest);
    else if (isDigest(promised)) checkEqual(request, promised, digest);
    const json = parseJson(bytes);
    if (!isRecord(json)) throw malformed(request, `the manifest is not JSON (${bytes.byteLength} bytes)`);
    const mediaType = mediaTypeOf(response) ?? json.mediaType;
    if (!isMediaType(mediaType)) throw malformed(request, "the manifest has no media type");
    return { digest, mediaType, size: bytes.byteLength, bytes };
  }

  async function writeManifest(reference: ImageReference, manifest: Manifest): Promise<Digest> {
    const { bytes, mediaType } = manifest;
    const digest = digestOf(bytes);
    if (digest !== manifest.digest)
      throw new InternalError(`manifest ${manifest.digest} has the digest ${digest}`);
    const name = reference.tag ?? reference.digest ?? noName(reference);
    const base = requestFor(reference, "PUT", name);
    const headers = { ...base.headers, "content-type": mediaType };
    const request: HttpRequest = { ...base, headers, body: bytes, once: reference.tag !== null };
    const response = await send(request);
    if (response.status >= 300) {
      if (reference.tag !== null && (await isRefusalOfTheSame(reference, digest, response))) return digest;
      throw refused(request, response);
    }
    const stored = response.headers["docker-content-digest"];
    if (isDigest(stored)) checkEqual(request, digest, stored);
    return digest;
  }

  /** Registries with immutable tags refuse even the manifest that the tag has, with various statuses. */
  async function isRefusalOfTheSame(
    reference: ImageReference,
    digest: Digest,
    { status }: HttpResponse,
  ): Promise<boolean> {
    if (status < 400 || status >= 500 || status === 401 || status === 404 || status === 429) return false;
    const current = await findManifest({ ...reference, digest: null }).catch(() => null);
    return current?.digest === digest;
  }

  async function remove(reference: ImageReference, name: string): Promise<boolean> {
    const request = requestFor(reference, "DELETE", name);
    const response = await send(request);
    if (response.status >= 200 && response.status < 300) return true;
    // 400 or 405: not offered (OCI distribution-spec, "Deleting tags", "Deleting Manifests").
    if (response.status === 400 || response.status === 405) return false;
    if (response.status !== 404) throw refused(request, response);
    // Some registries accept only digests here, so 404 says nothing about a tag.
    return name === reference.tag && (await findManifest({ ...reference, digest: null })) === null;
  }

  return {
    ...{ findManifest, readManifest, writeManifest },
    removeTag: async (reference) => remove(reference, reference.tag ?? noName(reference)),
    removeManifest: async (reference) => remove(reference, reference.digest ?? noName(reference)),
  };
}

/** The digest, else the tag, else `latest`. */
function nameToRead({ digest, tag }: ImageReference): string {
  return digest ?? tag ?? "latest";
}

function noName(reference: ImageReference): never {
  throw new ImgmatchError({
    code: "REFERENCE_INVALID",
    message: `${formatImageReference(reference)} has no tag to write`,
    fix: "write it as registry/repository:tag",
  });
}

/** The descriptor in the answer to a HEAD; null if a part is missing, so that the manifest must be read. */
function describedBy(response: HttpResponse): ManifestDescriptor | null {
  const digest = response.headers["docker-content-digest"];
  const mediaType = mediaTypeOf(response);
  const length = response.headers["content-length"] ?? "";
  if (!isDigest(digest) || mediaType === null || !/^[1-9]\d*$/.test(length)) return null;
  return { digest, mediaType, size: Number(length) };
}

/** The descriptor alone, for JSON. */
export function descriptorOf({ mediaType, digest, size }: ManifestDescriptor): ManifestDescriptor {
  return { mediaType, digest, size };
}

/** null for a general type such as `text/plain`. */
function mediaTypeOf({ headers }: HttpResponse): string | null {
  const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "";
  return mediaType.startsWith("application/vnd.") && isMediaType(mediaType) ? mediaType : null;
}

function checkEqual(request: HttpRequest, expected: Digest, actual: Digest): void {
  if (expected !== actual) throw digestMismatch(request, `expected ${expected}, got ${actual}`);
}

/** A manifest or index of this content. */
export function manifestOf(mediaType: string, content: object): Manifest {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...content }));
  return { mediaType, digest: digestOf(bytes), size: bytes.byteLength, bytes };
}
