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
  /** The connection breaks before, or after it is done, or when half of the answer is sent. */
  | { readonly kind: "cut"; readonly when: "before" | "after" | "within" }
  /** The connection breaks, and it is done `ms` later. */
  | { readonly kind: "late"; readonly ms: number };

export interface Asked {
  readonly method: string;
  readonly repository: string;
  readonly kind: string;
  /** Tag, digest or upload; `list` for a list. */
  readonly name: string;
  readonly digest: Digest | null;
}

export interface Plan {
  /** Before and after it is done. */
  readonly delayMs?: readonly [number, number];
  readonly fault?: Fault | null;
}

export interface StoredRepository {
  readonly blobs: Map<Digest, Uint8Array>;
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, { readonly bytes: Uint8Array; readonly mediaType: string }>;
}

export interface HttpRegistry {
  readonly host: string;
  /** Decides about every request; null is no fault. */
  plan: (asked: Asked) => Plan;
  /** By name. */
  readonly repositories: Map<string, StoredRepository>;
  repository(name: string): StoredRepository;
  /** Into every repository. */
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
  const everywhere = new Map<Digest, Uint8Array>();
  const uploads = new Map<string, Buffer>();
  let busy = 0;
  const registry: Pick<HttpRegistry, "plan"> = { plan: () => ({}) };

  function repository(name: string): StoredRepository {
    const known = repositories.get(name) ?? { tags: new Map(), manifests: new Map(), blobs: new Map() };
    repositories.set(name, known);
    return known;
  }

  type Answer = (response: ServerResponse, share?: number) => unknown;

  /** Does what was asked, and answers how to say so; `share` of the body. */
  function perform(asked: Asked, body: Buffer, mediaType: string, query: URLSearchParams): Answer {
    const { method, repository: of, kind, name } = asked;
    const { tags, manifests, blobs } = repository(of);
    const says =
      (status: number, headers: Readonly<Record<string, string>> = {}): Answer =>
      (response) =>
        response.writeHead(status, headers).end();
    const gives =
      (bytes: Uint8Array, headers: Readonly<Record<string, string>>): Answer =>
      (response, share = 1) => {
        response.writeHead(200, { "content-length": bytes.length, ...headers });
        if (method === "HEAD") return response.end();
        const sent = bytes.subarray(0, bytes.length * share);
        return share === 1 ? response.end(sent) : response.write(sent, () => response.destroy());
      };
    if (kind === "tags") {
      const list = Buffer.from(JSON.stringify({ name: of, tags: [...tags.keys()].sort() }));
      return gives(list, { "content-type": "application/json" });
    }
    if (kind === "blobs/uploads") {
      const id = name || `${uploads.size}`;
      const all = Buffer.concat([uploads.get(id) ?? Buffer.of(), body]);
      uploads.set(id, all);
      if (method !== "PUT") return says(202, { location: `/v2/${of}/blobs/uploads/${id}` });
      if (query.get("digest") !== digestOf(all)) return says(400);
      blobs.set(digestOf(all), all);
      return says(201, { "docker-content-digest": digestOf(all) });
    }
    if (kind === "blobs") {
      const digest = name as Digest;
      const bytes = blobs.get(digest) ?? everywhere.get(digest);
      return bytes === undefined ? says(404) : gives(bytes, { "docker-content-digest": digest });
    }
    if (kind !== "manifests") return says(404);
    if (method === "PUT") {
      const digest = digestOf(body);
      manifests.set(digest, { bytes: body, mediaType });
      if (!name.startsWith("sha256:")) tags.set(name, digest);
      return says(201, { "docker-content-digest": digest });
    }
    if (method === "DELETE") return says(removesTags ? (tags.delete(name) ? 202 : 404) : 405);
    const digest = (name.startsWith("sha256:") ? name : tags.get(name)) as Digest | undefined;
    const found = digest === undefined ? undefined : manifests.get(digest);
    if (found === undefined || digest === undefined) return says(404);
    return gives(found.bytes, { "content-type": found.mediaType, "docker-content-digest": digest });
  }

  async function handle(asked: Asked, act: () => Answer, response: ServerResponse, socket: Socket) {
    const { delayMs: [before, after] = [0, 0], fault = null } = registry.plan(asked);
    if (before > 0) await sleep(before);
    if (fault?.kind === "refused") {
      const headers = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
      response.writeHead(fault.status, headers).end();
    } else if (fault?.kind === "cut" && fault.when === "before") socket.destroy();
    else if (fault?.kind === "late") {
      socket.destroy();
      await sleep(fault.ms);
      act();
    } else {
      const answer = act();
      if (after > 0) await sleep(after);
      if (fault?.kind === "cut" && fault.when === "within") answer(response, 0.5);
      else if (fault?.kind === "cut") socket.destroy();
      else if (fault?.kind === "done") response.writeHead(fault.status).end();
      else answer(response);
    }
  }

  const server = createServer((request, response) => {
    const { method = "", url = "", headers, socket } = request;
    const { pathname, searchParams } = new URL(url, "http://registry");
    const [, of = "", kind = "", name = ""] =
      /^\/v2\/(.+)\/(blobs\/uploads|manifests|blobs|tags|referrers)\/(.*)$/.exec(pathname) ?? [];
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const asked = { method, repository: of, kind, name, digest: method === "PUT" ? digestOf(body) : null };
      const act = () => perform(asked, body, headers["content-type"] ?? "", searchParams);
      busy++;
      return handle(asked, act, response, socket).finally(() => busy--);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return Object.assign(registry, {
    host: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    repositories,
    repository,
    addBlob(bytes: Uint8Array): Digest {
      const digest = digestOf(bytes);
      everywhere.set(digest, bytes);
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
