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
import { type ExpectedAnswer, type OperationOptions, taking } from "./ask.ts";
import { digestMismatch, malformed, requireStored } from "./failure.ts";
import { RegistryError } from "./registry-error.ts";
import { registryLimits } from "../../io/limits.ts";
import { type HttpRequest, type HttpResponse, requestTo } from "./transport.ts";

type ManifestOperations = Pick<
  RegistryClient,
  "findManifest" | "readManifest" | "writeManifest" | "removeTag" | "removeManifest"
>;

const rights = { GET: "pull", HEAD: "pull", PUT: "pull,push", DELETE: "delete,pull" } as const;

export function manifestOperations({ ask, plainHttp }: OperationOptions): ManifestOperations {
  function requestFor(reference: ImageReference, method: keyof typeof rights, name: string): HttpRequest {
    const url = registryUrl(reference, "manifests", name, plainHttp);
    const headers = { accept: acceptedTypes, "accept-encoding": "identity" };
    return requestTo(reference, url, { method, headers, actions: rights[method] });
  }

  async function findManifest(reference: ImageReference): Promise<ManifestDescriptor | null> {
    const request = requestFor(reference, "HEAD", nameToRead(reference));
    // 405: some proxies know only GET.
    const response = await ask(request, taking("a manifest", [200, 404, 405]));
    if (response.status === 404) return null;
    const described = response.status === 200 ? describedBy(response) : null;
    if (described === null) {
      const manifest = await readManifest(reference);
      return manifest && descriptorOf(manifest);
    }
    if (reference.digest !== null) checkEqual(request, reference.digest, described.digest);
    return described;
  }

  const readManifest: RegistryClient["readManifest"] = async (
    reference,
    { size = registryLimits.manifestBytes, ...advice } = {},
  ) => {
    const maxBytes = Math.min(size, registryLimits.manifestBytes);
    const request = { ...requestFor(reference, "GET", nameToRead(reference)), maxBytes };
    const expected: ExpectedAnswer<Manifest | null> = {
      ...{ on: "attached", wants: "a manifest" },
      read(response) {
        const { status, body: bytes } = response;
        if (status !== 200) return status === 404 ? null : undefined;
        const digest = digestOf(bytes);
        const promised = response.headers["docker-content-digest"];
        if (reference.digest !== null) checkEqual(request, reference.digest, digest);
        else if (isDigest(promised)) checkEqual(request, promised, digest);
        const json = parseJson(bytes);
        if (!isRecord(json)) return undefined;
        const mediaType = mediaTypeOf(response) ?? json.mediaType;
        if (!isMediaType(mediaType)) throw malformed(request, "the manifest has no media type");
        return { digest, mediaType, size: bytes.byteLength, bytes };
      },
    };
    return ask(request, expected, advice);
  };

  async function writeManifest(reference: ImageReference, manifest: Manifest): Promise<Digest> {
    const { bytes, mediaType } = manifest;
    const digest = digestOf(bytes);
    if (digest !== manifest.digest)
      throw new InternalError(`manifest ${manifest.digest} has the digest ${digest}`);
    const name = reference.tag ?? reference.digest ?? noName(reference);
    const base = requestFor(reference, "PUT", name);
    const headers = { ...base.headers, "content-type": mediaType };
    const request: HttpRequest = { ...base, headers, body: bytes, once: reference.tag !== null };
    try {
      requireStored(request, digest, await ask(request, stored));
    } catch (error) {
      if (reference.tag === null || !(await isRefusalOfTheSame(reference, digest, error))) throw error;
    }
    return digest;
  }

  /** Registries with immutable tags refuse even the manifest that the tag has, with various statuses. */
  async function isRefusalOfTheSame(
    reference: ImageReference,
    digest: Digest,
    error: unknown,
  ): Promise<boolean> {
    const status = error instanceof RegistryError ? (error.status ?? 0) : 0;
    if (status < 400 || status >= 500 || status === 401 || status === 404 || status === 429) return false;
    const current = await findManifest({ ...reference, digest: null }).catch(() => null);
    return current?.digest === digest;
  }

  async function remove(reference: ImageReference, name: string): Promise<boolean> {
    const { status } = await ask(
      requestFor(reference, "DELETE", name),
      // 400 or 405: not offered (OCI distribution-spec, "Deleting tags", "Deleting Manifests").
      taking("a removal", [200, 202, 204, 400, 404, 405]),
    );
    if (status < 300 || status !== 404) return status < 300;
    // Some registries accept only digests here, so 404 says nothing about a tag.
    return name === reference.tag && (await findManifest({ ...reference, digest: null })) === null;
  }

  return {
    ...{ findManifest, readManifest, writeManifest },
    removeTag: async (reference) => remove(reference, reference.tag ?? noName(reference)),
    removeManifest: async (reference) => remove(reference, reference.digest ?? noName(reference)),
  };
}

/** A 200 without a digest is the page of a proxy: registries answer 201, some 202. */
const stored: ExpectedAnswer<HttpResponse> = {
  wants: "that of a registry that has stored the manifest",
  read: (response) => {
    const { status, headers } = response;
    return status < 300 && (status !== 200 || isDigest(headers["docker-content-digest"]))
      ? response
      : undefined;
  },
};

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
