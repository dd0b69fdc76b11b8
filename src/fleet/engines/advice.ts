/** Advice about an engine: the engine has a disk and a list of trusted registries of its own. */

export interface Advice {
  /** For a registry that it does not trust; null when the words are about something else. `host`: the registry, if known. */
  readonly trust: (said: string, host?: string) => string | null;
  /** For a refused login. */
  readonly login: (host: string) => string;
  /** For a full disk. `folder`: where the engine keeps its data, if known. */
  readonly full: (folder?: string) => string;
}

/** The kinds of builders: a Docker Engine, a separate BuildKit, or Podman and Buildah. */
type Builder = keyof typeof places;

/** `ca`: the certificates that imgmatch itself was given, which `--ca` tells no engine but Podman. */
export function adviceFor(builder: Builder, ca = "CA.pem"): Advice {
  const place = places[builder];
  const trust: Advice["trust"] = (said, host) => {
    const [, named] =
      /https?:\/\/([^/"\s]+)\/v2\//.exec(said) ?? /container registry ([^\s:]+(?::\d+)?)/.exec(said) ?? [];
    const registry = host ?? named ?? "HOST:PORT";
    // crypto/x509 and net/http of Go, in which all these engines are written.
    if (/certificate signed by unknown authority/.test(said)) return place.trust(registry, ca);
    if (/server gave HTTP response to HTTPS client/.test(said)) return place.plain(registry);
    return null;
  };
  return { trust, full: place.full, login: (host) => `${place.program} login ${host}` };
}

interface Place {
  readonly program: string;
  readonly trust: (registry: string, ca: string) => string;
  readonly plain: (registry: string) => string;
  readonly full: (folder?: string) => string;
}

const places = {
  // Docker, "Verify repository client with certificates": read at every request.
  engine: {
    program: "docker",
    trust: (registry, ca) =>
      `the engine has its own certificates: on its machine, as root, ${copy("/etc/docker/certs.d", registry, ca)} (no restart is needed; rootless engines read ~/.config/docker/certs.d)`,
    plain: (registry) =>
      `the engine must be told too: "insecure-registries": ["${registry}"] in /etc/docker/daemon.json on its machine, then restart it`,
    full: (folder) =>
      `make room on the engine's disk${folder === undefined ? "" : `, which holds ${folder} on its machine`}: docker system df says what fills it, docker builder prune and docker image prune --all remove what no container uses`,
  },
  // moby/buildkit, docs/buildkitd.toml.md
  builder: {
    program: "docker",
    trust: (registry, ca) =>
      `the builder has its own certificates: give its buildkitd.toml the lines [registry."${registry}"] and ca = ["${ca}"] (docker buildx create --buildkitd-config copies the file to the builder)`,
    plain: (registry) =>
      `the builder must be told too: give its buildkitd.toml the lines [registry."${registry}"] and http = true`,
    full: () => "make room on the builder's disk: docker buildx prune",
  },
  // containers/image, docs/containers-certs.d.5.md and containers-registries.conf.5.md
  containers: {
    program: "podman",
    trust: (registry, ca) =>
      `name the certificates by --ca; where podman works on another machine, there as root: ${copy("/etc/containers/certs.d", registry, ca)}`,
    plain: (registry) =>
      `podman must be told too: [[registry]] with location = "${registry}" and insecure = true in /etc/containers/registries.conf`,
    full: () => "make room on the disk of podman's images (graphRoot of podman info): podman image prune",
  },
} as const satisfies Record<string, Place>;

function copy(folder: string, registry: string, ca: string): string {
  return `mkdir -p ${folder}/${registry} && cp ${ca} ${folder}/${registry}/ca.crt`;
}
