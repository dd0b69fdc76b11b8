/** A sigstore on loopback, from the parts that sigstore's own tests are made of: Fulcio with its log, Rekor and a timestamp authority. */

import { createHash, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  fulcioHandler,
  initializeCA,
  initializeCTLog,
  initializeTLog,
  initializeTSA,
  rekorHandler,
  tsaHandler,
} from "@sigstore/mock";

export interface LocalSigstore {
  readonly url: string;
  /** `trusted_root.json`. */
  readonly trustedRoot: string;
  /** How many certificates were issued. */
  readonly issued: () => number;
  stop(): Promise<void>;
}

export interface SigstoreOptions {
  /** The certificate authority's clock. Default: the true one. */
  readonly issuedAt?: Date;
}

const keyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
const always = { start: "2000-01-01T00:00:00Z" };

export async function startSigstore({ issuedAt }: SigstoreOptions = {}): Promise<LocalSigstore> {
  const keys = { ca: keyPair(), ct: keyPair(), log: keyPair(), tsa: keyPair() };
  const ctLog = await initializeCTLog(keys.ct, issuedAt);
  const ca = await initializeCA(keys.ca, ctLog, issuedAt);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // A whole second: of a fraction it leaves out zeros at the end, which sigstore's own reader then does not take. And within the
  // certificates' ten minutes, also of those that are issued later.
  const stampedAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 60_000);
  const [log, tsa] = await Promise.all([initializeTLog(url, keys.log), initializeTSA(keys.tsa, stampedAt)]);
  const rekor = { log: (entry: object) => log.log(asRekorKeepsIt(entry)) } as typeof log;
  const handlers = [fulcioHandler(ca), rekorHandler(rekor), tsaHandler(tsa)];
  let issued = 0;
  server.on("request", async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const handler = handlers.find(({ path }) => path === request.url && request.method === "POST");
    if (handler === undefined) return void response.writeHead(404).end();
    if (handler === handlers[0]) issued++;
    const body = Buffer.concat(chunks).toString();
    const { authorization } = request.headers;
    const answer = await handler.fn(authorization === undefined ? body : withToken(body, authorization));
    // Fulcio's gateway says 200, and cosign takes nothing else.
    const status = handler === handlers[0] && answer.statusCode === 201 ? 200 : answer.statusCode;
    // Rekor names the entry in a header, where cosign reads it.
    const entry =
      handler === handlers[1] && status === 201
        ? Object.keys(JSON.parse(String(answer.response)))[0]
        : undefined;
    response.writeHead(status, {
      ...(entry === undefined ? {} : { etag: entry, location: `/api/v1/log/entries/${entry}` }),
      "content-type": answer.contentType ?? "text/plain",
    });
    response.end(answer.response);
  });
  const authority = (...certificates: ArrayBufferView[]) => ({
    subject: { organization: "sigstore.mock", commonName: "sigstore" },
    uri: url,
    certChain: { certificates: certificates.map((bytes) => ({ rawBytes: base64(bytes) })) },
    validFor: always,
  });
  const logOf = (key: ArrayBufferView) => ({
    baseUrl: url,
    hashAlgorithm: "SHA2_256",
    publicKey: { rawBytes: base64(key), keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor: always },
    logId: { keyId: createHash("sha256").update(bytesOf(key)).digest("base64") },
  });
  const trustedRoot = {
    mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
    tlogs: [logOf(log.publicKey)],
    certificateAuthorities: [authority(ca.rootCertificate)],
    ctlogs: [logOf(ctLog.publicKey)],
    timestampAuthorities: [authority(tsa.intCertificate, tsa.rootCertificate)],
  };
  return {
    url,
    trustedRoot: JSON.stringify(trustedRoot),
    issued: () => issued,
    stop: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };
}

/** A token as an issuer would give it, signed by nobody: this Fulcio does not look. */
export function tokenOf(subject: string, issuer = "https://issuer.example.com"): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: subject, iss: issuer, aud: "sigstore", iat: now, exp: now + 600 };
  return `${part({ alg: "RS256", typ: "JWT" })}.${part(claims)}.${part({})}`;
}

/** cosign 3 sends the token as Fulcio's gateway takes it too, in a header. */
function withToken(body: string, authorization: string): string {
  const oidcIdentityToken = authorization.replace(/^Bearer /, "");
  return JSON.stringify({ ...JSON.parse(body), credentials: { oidcIdentityToken } });
}

/** Rekor keeps hashes of an envelope and not the envelope (sigstore/rekor, pkg/types/dsse/v0.0.1/entry.go); its stand-in keeps all. */
function asRekorKeepsIt(entry: object): object {
  const { kind, spec } = entry as { kind: string; spec: { proposedContent?: Proposed } };
  const content = spec.proposedContent;
  if (kind !== "dsse" || content === undefined) return entry;
  const envelope = JSON.parse(content.envelope) as { payload: string; signatures: { sig: string }[] };
  const hash = (bytes: Buffer) => ({
    algorithm: "sha256",
    value: createHash("sha256").update(bytes).digest("hex"),
  });
  return {
    ...entry,
    spec: {
      envelopeHash: hash(Buffer.from(content.envelope)),
      payloadHash: hash(Buffer.from(envelope.payload, "base64")),
      signatures: envelope.signatures.map(({ sig }, index) => ({
        signature: sig,
        verifier: content.verifiers[index],
      })),
    },
  };
}

interface Proposed {
  readonly envelope: string;
  readonly verifiers: readonly string[];
}

function bytesOf(view: ArrayBufferView): Buffer {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength);
}

function base64(view: ArrayBufferView): string {
  return bytesOf(view).toString("base64");
}
