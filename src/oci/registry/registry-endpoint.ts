/** Makes and reads the addresses of registries. */

import type { ImageReference } from "../reference.ts";

/** The API's URL. `kind` and `name` end its path: `manifests/1.0`, `blobs/sha256:…`, `tags/list`, `referrers/sha256:…`. */
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

/** The address in an answer, which may be relative to that of the request; null if it is none. */
export function namedUrl(text: string | undefined, base: URL): URL | null {
  return text !== undefined && URL.canParse(text, base.href) ? new URL(text, base) : null;
}

/** The host that serves a registry's images: Docker Hub's names differ from it. */
export function apiHost(registry: string): string {
  return registry === "docker.io" ? "registry-1.docker.io" : registry;
}

/** Other hosts of Docker Hub. */
const dockerHubHosts = ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];

/**
 * One spelling for each registry, for comparisons: without upper case, a dot behind the host, zeros before the port, or a default port, and
 * with IPv6 addresses shortened. Connections use the name as it is written.
 */
export function plainRegistry(registry: string): string {
  const [, written = "", port = ""] = /^(.*?)\.?(?::0*(\d+))?$/.exec(registry.toLowerCase()) ?? [];
  const isAddress = written.startsWith("[") && URL.canParse(`http://${written}/`);
  const host = isAddress ? new URL(`http://${written}/`).hostname : written;
  if (port === "" || port === "443" || port === "80")
    return dockerHubHosts.includes(host) ? "docker.io" : host;
  return `${host}:${port}`;
}

/** True if a host, with or without port, is this machine: the only one that plain http is safe for. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return (
    name === "localhost" ||
    name.endsWith(".localhost") ||
    name === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(name)
  );
}

/** Docker takes plain http from a registry on loopback by itself; Podman and Buildah have to be told. */
export function podmanTls(registry: string): readonly string[] {
  return isLoopback(registry) ? ["--tls-verify=false"] : [];
}
