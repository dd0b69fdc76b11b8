/** Reading blobs: configurations and layers. */

import type { RegistryClient } from "./client.ts";
import { digestOf } from "../oci/digest.ts";
import { registryUrl } from "./endpoint.ts";
import { digestMismatch, refused } from "./failure.ts";
import type { OperationOptions } from "./manifests.ts";
import type { HttpRequest } from "./transport.ts";

export interface BlobOptions extends OperationOptions {
  readonly maxBlobBytes: number;
}

export function blobOperations({
  send,
  plainHttp,
  maxBlobBytes,
}: BlobOptions): Pick<RegistryClient, "readBlob"> {
  return {
    async readBlob(repository, digest) {
      const request: HttpRequest = {
        method: "GET",
        url: registryUrl(repository, "blobs", digest, plainHttp),
        headers: { "accept-encoding": "identity", "user-agent": "imgmatch" },
        maxBytes: maxBlobBytes,
        scope: `repository:${repository.repository}:pull`,
      };
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
  };
}
