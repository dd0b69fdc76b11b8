/** An answer of the mirror, and its caller. */

import type { Readable } from "node:stream";
import type { Digest } from "../../oci/digest.ts";

/** The result of a request, for logs and metrics. */
export type Outcome =
  /** The manifest of this node's image. */
  | "image"
  /** A fleet's manifest, by digest. */
  | "content"
  /** A blob, a redirect to a blob, or the registry's answer for a tag. */
  | "passed-on"
  /** Not a fleet's: the runtime asks the registry. */
  | "not-served"
  /** A fleet's tag, and no image fits this host. */
  | "no-match"
  /** A fleet's tag, and this host is broken. */
  | "host-broken"
  /** A tag without a required signature. */
  | "not-trusted"
  /** The registry wants a login. */
  | "login"
  /** There was no answer in time. */
  | "unavailable"
  /** A request that no container runtime sends. */
  | "refused"
  | "health"
  | "metrics";

/** The parts of a request's head that decide the answer. */
export interface Caller {
  /** The header `Authorization`. Only the registry reads it. */
  readonly authorization: string | null;
  /** GET in place of HEAD. */
  readonly wantsBody: boolean;
  /** The header `Range`. */
  readonly range: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly outcome: Outcome;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
  /** Passed on in place of `body`. */
  readonly stream?: Readable;
  /** The length of a body that is not in `body`; null if it is unknown. */
  readonly length?: number | null;
  /** The error's message, for the log. */
  readonly reason?: string;
  /** The manifest in the answer. */
  readonly digest?: Digest;
}

/** The codes of the distribution specification ("Error Codes"), and distribution's own `UNAVAILABLE` (`registry/api/errcode`). */
export type OciErrorCode =
  | "NAME_INVALID"
  | "NAME_UNKNOWN"
  | "MANIFEST_UNKNOWN"
  | "BLOB_UNKNOWN"
  | "UNAUTHORIZED"
  | "DENIED"
  | "UNSUPPORTED"
  | "UNAVAILABLE";

/** `{"errors":[{"code":"DENIED","message":"…"}]}`: containerd 2, Docker and skopeo print the message of a 403. */
export function ociError(
  status: number,
  code: OciErrorCode,
  outcome: Outcome,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    outcome,
    reason,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ errors: [{ code, message: reason }] }),
  };
}
