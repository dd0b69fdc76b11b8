/** A registry that speaks HTTP and keeps all in memory, behind faults: so the real client meets what a real network does. */

import { createServer, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Digest } from "../../../../src/oci/digest.ts";
import { digestOf } from "../../../../src/oci/digest-of.ts";

export type Fault =
  /** Answered without being done. */
  | { readonly kind: "refused"; readonly status: number; readonly retryAfter?: string }
  /** Done, and answered so. */
  | { readonly kind: "done"; readonly status: number }
  /** The connection breaks before, or after it is done. */
  | { readonly kind: "cut"; readonly when: "before" | "after" }
  /** The connection breaks, and it is done `ms` later. */
  | { readonly kind: "late"; readonly ms: number };

export interface Asked {
  readonly method: string;
  readonly repository: string;
  /** Tag or digest; empty for a list. */
  readonly name: string;
  readonly digest: Digest | null;
}

export interface Plan {
  /** Before and after it is done. */
  readonly delayMs?: readonly [number, number];
  readonly fault?: Fault | null;
}

export interface StoredRepository {
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, { readonly bytes: Uint8Array; readonly mediaType: string }>;
}

export interface HttpRegistry {
  readonly host: string;
  /** Decides about every request; null is no fault. */
  plan: (asked: Asked) => Plan;
  repository(name: string): StoredRepository;
  addBlob(bytes: Uint8Array): Digest;
  /** When nothing is under way any more. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHttpRegistry({
  removesTags,
}: {
  readonly removesTags: boolean;
}): Promise<HttpRegistry> {
  const repositories = new Map<string, StoredRepository>();
  const blobs = new Map<Digest, Uint8Array>();
  let busy = 0;
  const registry: Pick<HttpRegistry, "plan"> = { plan: () => ({}) };

  function repository(name: string): StoredRepository {
    const known = repositories.get(name) ?? { tags: new Map(), manifests: new Map() };
    repositories.set(name, known);
    return known;
  }

  /** Does what was asked, and answers how to say so. */
  function perform({ method, repository: of, name }: Asked, body: Buffer, mediaType: string) {
    const { tags, manifests } = repository(of);
    if (method === "PUT") {
      const digest = digestOf(body);
      manifests.set(digest, { bytes: body, mediaType });
      if (!name.startsWith("sha256:")) tags.set(name, digest);
      return (response: ServerResponse) => response.writeHead(201, { "docker-content-digest": digest }).end();
    }
    if (method === "DELETE") {
      if (!removesTags) return (response: ServerResponse) => response.writeHead(405).end();
      const status = tags.delete(name) ? 202 : 404;
      return (response: ServerResponse) => response.writeHead(status).end();
    }
    const digest = (name.startsWith("sha256:") ? name : tags.get(name)) as Digest | undefined;
    const found = digest === undefined ? undefined : manifests.get(digest);
    return (response: ServerResponse) => {
      if (found === undefined || digest === undefined) return response.writeHead(404).end();
      const { bytes, mediaType } = found;
      const headers = {
        "content-type": mediaType,
        "content-length": bytes.length,
        "docker-content-digest": digest,
      };
      response.writeHead(200, headers);
      return response.end(method === "HEAD" ? undefined : bytes);
    };
  }

  async function handle(
    asked: Asked,
    body: Buffer,
    mediaType: string,
    response: ServerResponse,
    socket: Socket,
  ) {
    const { delayMs: [before, after] = [0, 0], fault = null } = registry.plan(asked);
    if (before > 0) await sleep(before);
    if (fault?.kind === "refused") {
      const headers = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
      response.writeHead(fault.status, headers).end();
    } else if (fault?.kind === "cut" && fault.when === "before") socket.destroy();
    else if (fault?.kind === "late") {
      socket.destroy();
      await sleep(fault.ms);
      perform(asked, body, mediaType);
    } else {
      const answer = perform(asked, body, mediaType);
      if (after > 0) await sleep(after);
      if (fault?.kind === "cut") socket.destroy();
      else if (fault?.kind === "done") response.writeHead(fault.status).end();
      else answer(response);
    }
  }

  const server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    const [, of = "", kind, name = ""] = /^\/v2\/(.+)\/(manifests|blobs|tags)\/([^?]+)/.exec(url) ?? [];
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      if (kind === "blobs") return response.writeHead(200).end(blobs.get(name as Digest));
      if (kind === "tags") {
        const tags = [...repository(of).tags.keys()].sort();
        return response.writeHead(200).end(JSON.stringify({ name: of, tags }));
      }
      const asked = { method, repository: of, name, digest: method === "PUT" ? digestOf(body) : null };
      busy++;
      return handle(asked, body, request.headers["content-type"] ?? "", response, request.socket).finally(
        () => busy--,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return Object.assign(registry, {
    host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    repository,
    addBlob(bytes: Uint8Array): Digest {
      const digest = digestOf(bytes);
      blobs.set(digest, bytes);
      return digest;
    },
    async idle() {
      while (busy > 0) await sleep(5);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
