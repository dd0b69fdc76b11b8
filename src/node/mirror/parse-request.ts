/** Parses requests to the mirror: method, address and `Host`, each by a strict grammar. */

import { type Digest, isDigest } from "../../oci/digest.ts";
import { isRepositoryPath, isTag } from "../../oci/reference.ts";
import { type Answer, ociError } from "./mirror-answer.ts";

export interface RawRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly host: string | undefined;
}

export interface NamedRequest {
  /** containerd's `ns=`: the registry in the image's name; null if the runtime does not tell. */
  readonly namespace: string | null;
  readonly repository: string;
}

export type MirrorRequest =
  | { readonly kind: "base" }
  | { readonly kind: "health" }
  | { readonly kind: "metrics" }
  | ({ readonly kind: "tag"; readonly tag: string } & NamedRequest)
  | ({ readonly kind: "manifest"; readonly digest: Digest } & NamedRequest)
  | ({ readonly kind: "blob"; readonly digest: Digest } & NamedRequest)
  | { readonly kind: "refused"; readonly answer: Answer };

const longestUrl = 4096;
const fixedPaths: Readonly<Record<string, MirrorRequest>> = {
  "/v2/": { kind: "base" },
  "/v2": { kind: "base" },
  "/healthz": { kind: "health" },
  "/metrics": { kind: "metrics" },
};

/** @param port the mirror's port. A web page has another `Host`, and is refused (DNS rebinding). */
export function parseMirrorRequest({ method, url, host }: RawRequest, port: number): MirrorRequest {
  if (!isOwnHost(host, port))
    return refuse(421, "UNSUPPORTED", `this mirror answers to 127.0.0.1:${port} and localhost:${port} alone`);
  if (method !== "GET" && method !== "HEAD")
    return refuse(405, "UNSUPPORTED", "this mirror is read only", { allow: "GET, HEAD" });
  if (url.length > longestUrl) return refuse(414, "NAME_INVALID", "the address is too long");
  const [path = "", query = ""] = url.split("?", 2);
  const fixed = Object.hasOwn(fixedPaths, path) ? fixedPaths[path] : undefined;
  if (fixed !== undefined) return fixed;
  const [, repository = "", kind, name = ""] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
  if (!isRepositoryPath(repository)) return refuse(404, "NAME_INVALID", "no address of a manifest or a blob");
  const namespaces = new URLSearchParams(query).getAll("ns");
  if (namespaces.length > 1) return refuse(400, "NAME_INVALID", "ns= stands there twice");
  const named = { namespace: namespaces[0]?.toLowerCase() ?? null, repository };
  if (isDigest(name)) return { ...named, kind: kind === "blobs" ? "blob" : "manifest", digest: name };
  if (kind === "manifests" && isTag(name)) return { ...named, kind: "tag", tag: name };
  return refuse(404, "NAME_INVALID", "neither a tag nor a sha256 digest");
}

function isOwnHost(host: string | undefined, port: number): boolean {
  const own = ["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`);
  return host !== undefined && own.includes(host.toLowerCase());
}

function refuse(
  status: number,
  code: "UNSUPPORTED" | "NAME_INVALID",
  why: string,
  headers: Readonly<Record<string, string>> = {},
): MirrorRequest {
  return { kind: "refused", answer: ociError(status, code, "refused", why, headers) };
}
