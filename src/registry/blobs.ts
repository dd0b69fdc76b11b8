/** Reading blobs: configurations whole, layers in pieces. */

import { createHash } from "node:crypto";
import type { RegistryClient } from "./client.ts";
import type { Digest } from "../oci/digest.ts";
import { digestOf } from "../oci/digest-of.ts";
import type { ImageReference } from "../oci/reference.ts";
import { registryUrl } from "./endpoint.ts";
import { digestMismatch, refused } from "./failure.ts";
import type { OperationOptions } from "./manifests.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";

export interface BlobOptions extends OperationOptions {
  readonly maxBlobBytes: number;
}

export function blobOperations({
  send,
  plainHttp,
  maxBlobBytes,
}: BlobOptions): Pick<RegistryClient, "readBlob" | "streamBlob"> {
  const requestFor = (repository: ImageReference, digest: Digest, range?: string): HttpRequest => ({
    method: "GET",
    url: registryUrl(repository, "blobs", digest, plainHttp),
    headers: {
      "accept-encoding": "identity",
      "user-agent": "imgmatch",
      ...(range === undefined ? {} : { range }),
    },
    maxBytes: maxBlobBytes,
    scope: `repository:${repository.repository}:pull`,
  });
  return {
    async readBlob(repository, digest) {
      const request = requestFor(repository, digest);
      const response = await send(request);
      if (response.status !== 200) throw refused(request, response);
      const actual = digestOf(response.body);
      if (actual !== digest) {
        throw digestMismatch(
          request,
          `the ${response.body.byteLength} bytes that came have the digest ${actual}`,
        );
      }
      return response.body;
    },

    async *streamBlob(repository, digest, size) {
      const hash = createHash("sha256");
      const piece = (start: number): { request: HttpRequest; answer: Promise<HttpResponse> } => {
        const end = Math.min(start + pieceBytes, size) - 1;
        // A registry or storage without ranges answers with all of it.
        const range = size > pieceBytes ? `bytes=${start}-${end}` : undefined;
        const request = requestFor(repository, digest, range);
        const answer = send(request);
        // It may be waited for only when the piece before it is used up, or never.
        answer.catch(() => {});
        return { request, answer };
      };
      let received = 0;
      for (let next = piece(0); ; ) {
        const { request, answer } = next;
        const response = await answer;
        const isWhole = response.status === 200 && received === 0;
        if (!isWhole && response.status !== 206) throw refused(request, response);
        hash.update(response.body);
        received += response.body.byteLength;
        const expected = isWhole ? size : Math.min(received - response.body.byteLength + pieceBytes, size);
        if (received !== expected) {
          throw digestMismatch(request, `${received} bytes came where ${expected} were asked for`);
        }
        const isLast = received === size;
        // One piece ahead: the registry is read while the bytes before are looked at.
        if (!isLast) next = piece(received);
        const actual = isLast ? `sha256:${hash.digest("hex")}` : digest;
        if (actual !== digest) {
          throw digestMismatch(request, `the ${received} bytes that came have the digest ${actual}`);
        }
        yield response.body;
        if (isLast) return;
      }
    },
  };
}

/** Long enough for a good speed, and two of them are held. */
const pieceBytes = 16 * 1024 * 1024;
