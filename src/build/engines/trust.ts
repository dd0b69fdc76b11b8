/** A registry that the engine does not trust → what to do, and where: an engine has its own list, which `--ca` does not change. */

/** The fix; null when the words are about something else. `host`: the registry, where the words do not name it. */
export type TrustAdvice = (words: string, host?: string) => string | null;

/** Where the list is: with a Docker Engine, with a BuildKit of its own, or with Podman and Buildah. */
export type Truster = keyof typeof places;

/** `ca`: the certificates that imgmatch itself was given. */
export function adviseTrust(truster: Truster, ca = "CA.pem"): TrustAdvice {
  return (words, host) => {
    const [, named] =
      /https?:\/\/([^/"\s]+)\/v2\//.exec(words) ?? /container registry ([^\s:]+(?::\d+)?)/.exec(words) ?? [];
    const registry = host ?? named ?? "HOST:PORT";
    // crypto/x509 and net/http of Go, in which all these engines are written.
    if (/certificate signed by unknown authority/.test(words)) return places[truster].trust(registry, ca);
    if (/server gave HTTP response to HTTPS client/.test(words)) return places[truster].plain(registry);
    return null;
  };
}

interface Place {
  readonly trust: (registry: string, ca: string) => string;
  readonly plain: (registry: string) => string;
}

const places = {
  // Docker, "Verify repository client with certificates": read at every request.
  engine: {
    trust: (registry, ca) =>
      `the engine has its own certificates: on its machine, as root, ${copy("/etc/docker/certs.d", registry, ca)} (no restart is needed; rootless engines read ~/.config/docker/certs.d)`,
    plain: (registry) =>
      `the engine must be told too: "insecure-registries": ["${registry}"] in /etc/docker/daemon.json on its machine, then restart it`,
  },
  // moby/buildkit, docs/buildkitd.toml.md
  builder: {
    trust: (registry, ca) =>
      `the builder has its own certificates: give its buildkitd.toml the lines [registry."${registry}"] and ca = ["${ca}"] (docker buildx create --buildkitd-config copies the file to the builder)`,
    plain: (registry) =>
      `the builder must be told too: give its buildkitd.toml the lines [registry."${registry}"] and http = true`,
  },
  // containers/image, docs/containers-certs.d.5.md and containers-registries.conf.5.md
  containers: {
    trust: (registry, ca) =>
      `name the certificates by --ca; where podman works on another machine, there as root: ${copy("/etc/containers/certs.d", registry, ca)}`,
    plain: (registry) =>
      `podman must be told too: [[registry]] with location = "${registry}" and insecure = true in /etc/containers/registries.conf`,
  },
} as const satisfies Record<string, Place>;

function copy(folder: string, registry: string, ca: string): string {
  return `mkdir -p ${folder}/${registry} && cp ${ca} ${folder}/${registry}/ca.crt`;
}
