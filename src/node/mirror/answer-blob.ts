/** Answers requests for blobs, from clients that take a whole image from one place: redirects to the registry, or passes its bytes on. */

import type { IncomingHttpHeaders } from "node:http";
import { finished } from "node:stream";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";
import { mostConnections } from "../../oci/registry/proxy.ts";
import { registryUrl } from "../../oci/registry/registry-endpoint.ts";
import { refuseChallenge } from "../../oci/registry/forwarding-client.ts";
import type { BlobRequest, OpenedBlob } from "../../oci/registry/open-blob.ts";
import { type Answer, type Caller, ociError } from "./mirror-answer.ts";

const blobModes = ["off", "redirect", "proxy"] as const;
/** `redirect` sends the client to the registry. `proxy` passes the registry's bytes on, by the caller's login. */
export type BlobMode = (typeof blobModes)[number];

export interface BlobOptions {
  readonly mode: BlobMode;
  readonly open: (blob: BlobRequest) => Promise<OpenedBlob>;
  readonly plainHttp: (host: string) => boolean;
}

export type AnswerBlob = (repository: ImageReference, digest: Digest, caller: Caller) => Promise<Answer>;

export function createBlobAnswers({ mode, open, plainHttp }: BlobOptions): AnswerBlob {
  let underWay = 0;

  /** Refuses more blobs than connections: a request in the queue would miss the mirror's deadline. */
  async function pass(repository: ImageReference, digest: Digest, caller: Caller): Promise<Answer> {
    if (underWay === mostConnections)
      return ociError(503, "UNAVAILABLE", "unavailable", `${mostConnections} blobs are under way already`);
    const { authorization, wantsBody } = caller;
    const method = wantsBody ? "GET" : "HEAD";
    const range = wantsBody ? oneRange(caller.range) : null;
    underWay++;
    const opened = await open({ repository, digest, method, range, authorization }).catch(
      (error: unknown) => {
        underWay--;
        throw error;
      },
    );
    finished(opened.body, () => {
      underWay--;
    });
    return blobAnswer(opened, registryUrl(repository, "blobs", digest, plainHttp), digest, wantsBody);
  }

  return async (repository, digest, caller) => {
    if (mode === "off") return ociError(404, "BLOB_UNKNOWN", "not-served", "blobs are the registry's");
    if (mode === "proxy") return pass(repository, digest, caller);
    const location = registryUrl(repository, "blobs", digest, plainHttp).href;
    return { status: 307, outcome: "passed-on", headers: { location }, body: "" };
  };
}

function blobAnswer(opened: OpenedBlob, blobUrl: URL, digest: Digest, wantsBody: boolean): Answer {
  const { status, headers, body } = opened;
  const passed = status === 200 || status === 206;
  if (!passed || !wantsBody) body.destroy();
  refuseChallenge(blobUrl, opened);
  if (status === 404)
    return ociError(404, "BLOB_UNKNOWN", "not-served", "the registry does not have this blob");
  if (status === 403)
    return ociError(403, "DENIED", "login", "the registry does not let this caller read it");
  if (status === 416) return ociError(416, "UNSUPPORTED", "refused", "the blob has no such range");
  if (!passed)
    return ociError(503, "UNAVAILABLE", "unavailable", `the registry answered ${status} for a blob`);
  return {
    status,
    outcome: "passed-on",
    headers: {
      "content-type": "application/octet-stream",
      "docker-content-digest": digest,
      ...rangesOf(headers),
    },
    body: "",
    ...(wantsBody ? { stream: body } : {}),
    length: lengthOf(headers),
  };
}

/** One range of bytes. Ignoring any other range is allowed, and sends the whole blob (RFC 9110, 14.2). */
function oneRange(text: string | undefined): string | null {
  return text !== undefined && /^bytes=(\d{1,16}-\d{0,16}|-\d{1,16})$/.test(text) ? text : null;
}

function rangesOf(headers: IncomingHttpHeaders): Record<string, string> {
  const range = headers["content-range"];
  return {
    ...(headers["accept-ranges"] === "bytes" ? { "accept-ranges": "bytes" } : {}),
    ...(range !== undefined && /^bytes [\d*/-]{1,60}$/.test(range) ? { "content-range": range } : {}),
  };
}

function lengthOf(headers: IncomingHttpHeaders): number | null {
  const text = headers["content-length"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
