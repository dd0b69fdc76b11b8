/** Answers of the mirror, apart from the connection that they go over. */

import type { Readable } from "node:stream";
import type { Digest } from "../../oci/digest.ts";

/** The result of a request, for logs and metrics: a closed set. */
export type Outcome =
  /** The manifest of this node's image. */
  | "image"
  /** A manifest of a fleet, asked for by its digest. */
  | "content"
  /** A blob of the registry, or where it is, or what the registry says of a tag. */
  | "passed-on"
  /** Not of a fleet: the runtime asks the registry. */
  | "not-served"
  /** A fleet's tag, and no image of it fits this host. */
  | "no-match"
  /** A fleet's tag, and this host is broken. */
  | "host-broken"
  /** A fleet's tag, and nobody who is trusted has signed what it holds. */
  | "not-trusted"
  /** The registry wants a login. */
  | "login"
  /** Nobody could say in time which image it is. */
  | "unavailable"
  /** No request that a container runtime sends. */
  | "refused"
  | "health"
  | "metrics";

/** The caller, as far as it decides the answer. */
export interface Caller {
  /** `Authorization` as it came: for the registry alone. */
  readonly authorization: string | null;
  /** GET, and not HEAD. */
  readonly wantsBody: boolean;
  /** `Range` as it came. */
  readonly range: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly outcome: Outcome;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
  /** In place of `body`: what is passed on as it comes. */
  readonly stream?: Readable;
  /** The length that HEAD gives of a body that is not at hand; null if nobody knows it. */
  readonly length?: number | null;
  /** Why, for the log: what people read in the body of an error. */
  readonly reason?: string;
  /** The image that was answered. */
  readonly digest?: Digest;
}

/** Of the distribution specification, "Error Codes", and `UNAVAILABLE` of distribution's own (`registry/api/errcode`). */
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
