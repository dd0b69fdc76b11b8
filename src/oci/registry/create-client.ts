/** Creates a registry client: distribution's HTTP API V2 over a transport with retries, redirects and logins. */

import { setMaxListeners } from "node:events";
import { withAbsence } from "./absence.ts";
import { asking } from "./ask.ts";
import { withAuthorization } from "./authorize.ts";
import { blobOperations } from "./blobs.ts";
import type { BlobCopier, BlobWriter, PushAsker, ReferrersReader, RegistryClient } from "./client.ts";
import { copyOperations } from "./copy-blob.ts";
import type { CredentialStore } from "./credential.ts";
import { noCredentials } from "./credentials.ts";
import { isLoopback } from "./registry-endpoint.ts";
import { manifestOperations } from "./manifests.ts";
import type { FindProxy } from "./proxy.ts";
import { referrersOperations } from "./referrers.ts";
import { withRedirects } from "./redirect.ts";
import { rightOperations, withRightsOfRun, writtenBy } from "./rights.ts";
import { withRetries } from "./try-again.ts";
import { tagOperations } from "./tags.ts";
import { createTransport } from "./transport.ts";

export interface RegistryOptions {
  /** Default: none, every request is anonymous. */
  readonly credentials?: CredentialStore | undefined;
  /** Tells whether a host, `name` or `name:port`, is asked without TLS. Default: loopback only. */
  readonly plainHttp?: ((host: string) => boolean) | undefined;
  /** PEM certificates that are trusted too. */
  readonly ca?: string | undefined;
  /** The proxy for an https address. Default: none; see `proxyFromEnv`. */
  readonly proxy?: FindProxy | undefined;
  /** Longest wait for an answer, in milliseconds. Default: 30,000. A long body gets more time while it flows. */
  readonly timeoutMs?: number | undefined;
  /** Tries after the first. Default: 4. */
  readonly retries?: number | undefined;
  /** No try of a request begins so many milliseconds after its first. Default: five minutes. */
  readonly patienceMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The repositories that the run writes, as `formatRepository` writes them: see {@link withRightsOfRun}. Default: none. */
  readonly writes?: readonly string[] | undefined;
  /** Gets a line for each refusal that the work goes on without: see {@link asking}. */
  readonly tell?: ((line: string) => void) | undefined;
  /** Tags of a page. Default: 1000, the most that registries allow. */
  readonly pageSize?: number | undefined;
  /** For tests: the wait between tries, its jitter, and the clock for a `Retry-After` date. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  readonly random?: (() => number) | undefined;
  readonly now?: (() => number) | undefined;
}

/** All requests to a registry. Most callers need only a {@link RegistryClient}. */
export type FullRegistryClient = RegistryClient & BlobCopier & BlobWriter & PushAsker & ReferrersReader;

/**
 * A client for any OCI registry. Only 404 means absent. Throws `REGISTRY_AUTH` for 401 and 403, `REGISTRY_UNREACHABLE` for TLS,
 * timeouts and broken connections, `REGISTRY_DIGEST_MISMATCH` for content that is not what its digest says,
 * `REGISTRY_FAILED` for the rest, each with the request, the status and the registry's own error codes.
 *
 * @example
 * const registry = createRegistryClient({
 *   credentials: storedCredentials(process.env),
 *   proxy: proxyFromEnv(process.env),
 * });
 * const found = await registry.findManifest(parseImageReference("registry.example.com/team/app:1.0"));
 */
export function createRegistryClient(options: RegistryOptions = {}): FullRegistryClient {
  const {
    credentials = noCredentials,
    plainHttp = isLoopback,
    signal,
    patienceMs,
    tell = () => {},
  } = options;
  const timeoutMs = Math.min(options.timeoutMs ?? 30_000, patienceMs ?? Number.POSITIVE_INFINITY);
  // Each open request listens to the signal, and Node takes more than ten listeners for a leak.
  if (signal !== undefined) setMaxListeners(0, signal);

  const once = withRetries(createTransport({ ...options, timeoutMs }), options);
  const withLogin = withAuthorization(withRedirects(once, plainHttp), once, { credentials, plainHttp });
  const isWritten = writtenBy(options.writes ?? [], plainHttp);
  const withRights = withRightsOfRun(withLogin, isWritten);
  const ask = asking(withAbsence({ send: withRights, plainHttp }, isWritten), tell);
  const operations = { ask, plainHttp };
  const blobs = blobOperations(operations);
  return {
    ...manifestOperations(operations),
    ...blobs,
    ...copyOperations({ ...operations, streamBlob: blobs.streamBlob, pace: options }),
    ...referrersOperations(operations),
    ...rightOperations(operations),
    ...tagOperations({ ...operations, pageSize: options.pageSize ?? 1000 }),
  };
}
