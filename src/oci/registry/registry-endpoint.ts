/** Where a registry is: the API's address for a reference. */

import type { ImageReference } from "../reference.ts";

/** `kind` and `name` are the last two parts of the path: `manifests/1.0`, `blobs/sha256:…`, `tags/list`, `referrers/sha256:…`. */
export function registryUrl(
  { registry, repository }: ImageReference,
  kind: "manifests" | "blobs" | "tags" | "referrers",
  name: string,
  plainHttp: (host: string) => boolean,
): URL {
  return new URL(`${repository}/${kind}/${name}`, apiUrl(registry, plainHttp));
}

/** `https://registry.example.com/v2/` */
export function apiUrl(registry: string, plainHttp: (host: string) => boolean): URL {
  const host = apiHost(registry);
  return new URL(`${plainHttp(host) ? "http" : "https"}://${host}/v2/`);
}

/** Docker Hub's images are named after one host and served by another. */
export function apiHost(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}

/** Whether a host, with or without port, is this machine: the only one that plain http is safe for. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(name)
  );
}
