/** A registry in memory behind HTTP on loopback, to be read only: pushes are the test's. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMemoryRegistry, type MemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";

export interface ServedRegistry extends MemoryRegistry {
  readonly host: string;
  /** `Authorization` of every request. */
  readonly logins: (string | undefined)[];
  /** Answers 401 to everything. */
  refuses: boolean;
  /** `user:password` that every request has to have; null for none. */
  login: string | null;
  stop(): void;
}

export async function serveRegistry(): Promise<ServedRegistry> {
  const registry = createMemoryRegistry();
  const logins: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    logins.push(request.headers.authorization);
    const { login } = served;
    const wants = login === null ? undefined : `Basic ${Buffer.from(login).toString("base64")}`;
    if (served.refuses || (wants !== undefined && request.headers.authorization !== wants))
      return response.writeHead(401, { "www-authenticate": "Basic" }).end();
    const [, name = "", kind, reference = ""] =
      /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? "") ?? [];
    const isDigest = reference.startsWith("sha256:");
    const wanted = {
      registry: "",
      repository: name,
      tag: isDigest ? null : reference,
      digest: isDigest ? (reference as `sha256:${string}`) : null,
    };
    void (async () => {
      const found = kind === "manifests" ? await registry.readManifest(wanted) : null;
      const blob =
        kind === "blobs" && wanted.digest !== null ? await registry.readBlob(wanted, wanted.digest) : null;
      const bytes = found?.bytes ?? blob;
      if (bytes === null) return response.writeHead(404).end();
      response.writeHead(200, {
        "content-type": found?.mediaType ?? "application/octet-stream",
        "content-length": bytes.length,
        ...(found === null ? {} : { "docker-content-digest": found.digest }),
      });
      return response.end(request.method === "HEAD" ? undefined : bytes);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const served: ServedRegistry = {
    ...registry,
    ...{ host: `127.0.0.1:${port}`, logins, refuses: false, login: null },
    stop: () => server.close(),
  };
  return served;
}
