/** Manifests in their true format, and a client for tests that never really waits. */

import type { Manifest } from "../../../../src/oci/descriptor.ts";
import {
  createRegistryClient,
  type FullRegistryClient,
  type RegistryOptions,
} from "../../../../src/oci/registry/create-client.ts";
import { digestOf } from "../../../../src/oci/digest-of.ts";
import { manifestTypes } from "../../../../src/oci/media-types.ts";
import type { Answer } from "./fault-server.ts";

export function manifestOf(json: unknown, mediaType: string = manifestTypes.oci): Manifest {
  const bytes = Buffer.from(JSON.stringify(json));
  return { digest: digestOf(bytes), mediaType, size: bytes.byteLength, bytes };
}

export const someManifest = manifestOf({
  schemaVersion: 2,
  mediaType: manifestTypes.oci,
  config: {
    mediaType: "application/vnd.oci.image.config.v1+json",
    digest: digestOf(Buffer.from("{}")),
    size: 2,
  },
  layers: [],
});

export function serveManifest(manifest: Manifest, headers: Record<string, string> = {}): Answer {
  return (asked, response) => {
    response.writeHead(200, {
      "content-type": manifest.mediaType,
      "content-length": manifest.size,
      "docker-content-digest": manifest.digest,
      ...headers,
    });
    response.end(asked.method === "HEAD" ? undefined : manifest.bytes);
  };
}

/** Waits are recorded instead of waited; jitter is at its most. */
export function quickClient(
  options: RegistryOptions = {},
): FullRegistryClient & { readonly waits: number[] } {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  return { ...createRegistryClient({ sleep, random: () => 1, ...options }), waits };
}
