/** Reads blobs: configurations whole, layers in pieces. */

import { createHash } from "node:crypto";
import type { RegistryClient } from "./client.ts";
import { registryLimits } from "../../io/limits.ts";
import type { Digest } from "../digest.ts";
import { digestOf } from "../digest-of.ts";
import type { ImageReference } from "../reference.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { type Ask, type OperationOptions, taking } from "./ask.ts";
import { digestMismatch, tooLarge, unreachable } from "./failure.ts";
import { type HttpRequest, type HttpResponse, requestTo } from "./transport.ts";
import { TransportError } from "./registry-error.ts";

export function blobOperations({
  ask,
  plainHttp,
}: OperationOptions): Pick<RegistryClient, "readBlob" | "streamBlob"> {
  const requestFor = (repository: ImageReference, digest: Digest): HttpRequest => {
    const url = registryUrl(repository, "blobs", digest, plainHttp);
    const headers = { "accept-encoding": "identity" };
    return requestTo(repository, url, { maxBytes: registryLimits.configBytes, headers });
  };
  return {
    async readBlob(repository, digest) {
      const request = requestFor(repository, digest);
      const response = await ask(request, taking("a blob", [200]));
      const actual = digestOf(response.body);
      if (actual !== digest) throw otherDigest(request, response.body.byteLength, actual);
      return response.body;
    },

    async *streamBlob(repository, digest, size) {
      const hash = createHash("sha256");
      const request = requestFor(repository, digest);
      let received = 0;
      for await (const bytes of piecesOf(ask, request, size)) {
        hash.update(bytes);
        received += bytes.byteLength;
        if (received > size) throw tooLarge(request, `the answer is longer than ${size} bytes`);
        const actual = received === size ? (`sha256:${hash.digest("hex")}` as const) : digest;
        if (actual !== digest) throw otherDigest(request, received, actual);
        yield bytes;
      }
      if (received < size)
        throw digestMismatch(request, `${received} bytes came where ${size} were asked for`);
    },
  };
}

/** Long enough for a good speed. Two pieces are in memory at a time. */
const pieceBytes = 16 * 1024 * 1024;
/** A piece of a body without ranges: as long as copy-blob.ts sends at once. */
const restBytes = 8 * 1024 * 1024;

/** Asks for ranges. A registry or storage without ranges sends the whole body, which is read in pieces too. */
async function* piecesOf(ask: Ask, whole: HttpRequest, size: number): AsyncGenerator<Uint8Array> {
  const read = (start: number) => {
    const length = Math.min(pieceBytes, size - start);
    const range = length < size ? { range: `bytes=${start}-${start + length - 1}` } : {};
    const headers = { ...whole.headers, ...range };
    const request: HttpRequest = {
      ...whole,
      headers,
      maxBytes: length,
      inPieces: start === 0 && length < size,
    };
    const answer = ask(
      request,
      start === 0 ? taking("a blob", [200, 206]) : taking("a part of a blob", [206]),
    );
    // The reader may await it late, or never.
    answer.catch(() => {});
    return { request, answer, length };
  };
  let received = 0;
  for (let next = read(0); ; ) {
    const { request, answer, length } = next;
    const response = await answer;
    if (response.status === 200) return yield* wholeBody(request, response, size);
    const { body } = response;
    received += body.byteLength;
    if (body.byteLength !== length)
      throw digestMismatch(request, `${body.byteLength} bytes came where ${length} were asked for`);
    const isLast = received === size;
    // One piece ahead: it arrives while the reader works on the piece before.
    if (!isLast) next = read(received);
    yield body;
    if (isLast) return;
  }
}

async function* wholeBody(
  request: HttpRequest,
  { body, rest, attempts }: HttpResponse,
  size: number,
): AsyncGenerator<Uint8Array> {
  try {
    let received = body.byteLength;
    yield body;
    while (rest !== undefined) {
      const bytes = await rest.read(Math.min(restBytes, size - received));
      if (bytes.byteLength === 0) return;
      received += bytes.byteLength;
      yield bytes;
    }
  } catch (error) {
    throw error instanceof TransportError ? unreachable(request, error, attempts) : error;
  } finally {
    rest?.cancel();
  }
}

function otherDigest(request: HttpRequest, bytes: number, actual: Digest): Error {
  return digestMismatch(request, `the ${bytes} bytes that came have the digest ${actual}`);
}
