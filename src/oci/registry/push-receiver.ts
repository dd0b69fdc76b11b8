/**
 * A registry on loopback that receives one image of an engine (OCI distribution-spec, "Push" and "Pull"). A push sends only the layers that
 * the registry does not have; an export would send the whole image.
 */

import { createHash, type Hash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Digest, isDigest } from "../digest.ts";
import { digestOf } from "../digest-of.ts";
import { registryLimits } from "../../io/limits.ts";
import type { ImageReference } from "../reference.ts";

export interface PushReceiver {
  /** The reference to push to. Nobody can guess its repository, the only one. */
  readonly reference: ImageReference;
  /** Layers that were not sent because they are known. */
  readonly known: ReadonlySet<Digest>;
  close(): Promise<void>;
}

interface PushReceiverOptions {
  /** For the received layers. The caller removes it. */
  readonly folder: string;
  /** Layers that need not be sent. They cannot be read here. */
  readonly isKnown: (digest: Digest) => Promise<boolean>;
  /** With more bytes, the connection ends and `onTooMuch` is called. */
  readonly maxBytes: number;
  readonly onTooMuch: () => void;
}

interface Upload {
  readonly path: string;
  readonly hash: Hash;
  size: number;
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array;
}

/** The size that a known layer is said to have: engines leave a size of 0 out of their manifests. */
const someSize = 1;
const notFound: Answer = { status: 404 };

export async function receivePush(options: PushReceiverOptions): Promise<PushReceiver> {
  const repository = `imgmatch-${randomBytes(16).toString("hex")}`;
  const known = new Set<Digest>();
  const isKnown = async (digest: Digest) => {
    const found = await options.isKnown(digest);
    if (found) known.add(digest);
    return found;
  };
  const answer = answers(`/v2/${repository}`, { ...options, isKnown });
  const server = createServer((request, response) => {
    // The engine reports a connection that ends.
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    reference: { registry: `127.0.0.1:${port}`, repository, tag: "opened", digest: null },
    known,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answers(root: string, options: PushReceiverOptions) {
  const { upload, blob } = blobAnswers(root, options);
  const manifest = manifestAnswers(root);

  async function route(request: IncomingMessage, response: ServerResponse): Promise<Answer | null> {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (url.pathname === "/v2/") return { status: 200 };
    if (!url.pathname.startsWith(`${root}/`)) return notFound;
    const [kind, ...rest] = url.pathname.slice(root.length + 1).split("/");
    if (kind === "manifests" && rest.length === 1) return manifest(request, rest[0] ?? "");
    if (kind !== "blobs") return notFound;
    if (rest[0] === "uploads") return upload(request, rest[1] ?? "", url.searchParams.get("digest"));
    return blob(request, response, rest[0] ?? "");
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await route(request, response);
    if (answer === null) return;
    const { status, headers = {}, body } = answer;
    response.writeHead(status, { "Docker-Distribution-Api-Version": "registry/2.0", ...headers });
    response.end(body);
  };
}

function blobAnswers(root: string, { folder, isKnown, maxBytes, onTooMuch }: PushReceiverOptions) {
  const uploads = new Map<string, Upload>();
  let received = 0;
  const blobPath = (digest: Digest) => join(folder, digest.slice("sha256:".length));

  async function take(request: IncomingMessage, upload: Upload): Promise<void> {
    const counted = async function* () {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        received += chunk.length;
        if (received > maxBytes) {
          onTooMuch();
          throw new Error(`more than ${maxBytes} bytes were pushed`);
        }
        upload.size += chunk.length;
        upload.hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(counted(), createWriteStream(upload.path, { flags: "a" }));
  }

  async function upload(request: IncomingMessage, name: string, digest: string | null): Promise<Answer> {
    const id = name === "" ? randomBytes(16).toString("hex") : name;
    const own =
      name === ""
        ? { path: join(folder, `upload-${id}`), hash: createHash("sha256"), size: 0 }
        : uploads.get(id);
    if (own === undefined) return notFound;
    uploads.set(id, own);
    await take(request, own);
    const here = { Location: `${root}/blobs/uploads/${id}`, Range: `0-${Math.max(0, own.size - 1)}` };
    if (request.method !== "PUT") return { status: 202, headers: here };
    uploads.delete(id);
    const actual = `sha256:${own.hash.digest("hex")}` as Digest;
    if (actual !== digest) return { status: 400 };
    await rename(own.path, blobPath(actual));
    return { status: 201, headers: { Location: `${root}/blobs/${actual}`, "Docker-Content-Digest": actual } };
  }

  async function blob(
    request: IncomingMessage,
    response: ServerResponse,
    digest: string,
  ): Promise<Answer | null> {
    if (!isDigest(digest)) return notFound;
    const found = await stat(blobPath(digest)).catch(() => null);
    const headers = { "Docker-Content-Digest": digest, "Content-Length": found?.size ?? someSize };
    if (request.method === "HEAD")
      return found !== null || (await isKnown(digest)) ? { status: 200, headers } : notFound;
    if (found === null) return notFound;
    response.writeHead(200, headers);
    await pipeline(createReadStream(blobPath(digest)), response);
    return null;
  }

  return { upload, blob };
}

function manifestAnswers(root: string) {
  const manifests = new Map<string, { readonly type: string; readonly bytes: Uint8Array }>();

  return async (request: IncomingMessage, name: string): Promise<Answer> => {
    if (request.method === "PUT") {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > registryLimits.manifestBytes) return { status: 413 };
        chunks.push(chunk);
      }
      const bytes = Buffer.concat(chunks);
      const digest = digestOf(bytes);
      const stored = { type: request.headers["content-type"] ?? "", bytes };
      manifests.set(name, stored).set(digest, stored);
      return {
        status: 201,
        headers: { Location: `${root}/manifests/${digest}`, "Docker-Content-Digest": digest },
      };
    }
    const stored = manifests.get(name);
    if (stored === undefined) return notFound;
    const { type, bytes } = stored;
    const headers = {
      "Content-Type": type,
      "Docker-Content-Digest": digestOf(bytes),
      "Content-Length": bytes.length,
    };
    return { status: 200, headers, ...(request.method === "HEAD" ? {} : { body: bytes }) };
  };
}
