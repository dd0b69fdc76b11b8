/** The files that make a container runtime ask the mirror first: writes their text, installs and removes them. */

import { lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Problem, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { isThere, readBounded } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { writeFailed } from "../../io/system-error.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { ImageReference } from "../../oci/reference.ts";
import { apiHost } from "../../oci/registry/registry-endpoint.ts";

export const runtimes = ["containerd", "docker", "podman", "crio"] as const;
export type Runtime = (typeof runtimes)[number];

export interface RuntimeConfig {
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** Further steps for the user. */
  readonly notes: readonly string[];
}

export interface RuntimeConfigOptions {
  readonly fleets: readonly Pick<ImageReference, "registry" | "repository">[];
  /** The address of the mirror: `127.0.0.1:5047`. */
  readonly address: string;
  /** Only the mirror answers tags. */
  readonly failClosed: boolean;
  readonly plainHttp: (host: string) => boolean;
}

/**
 * @example
 * const { files } = runtimeConfig("containerd", { fleets, address: "127.0.0.1:5047", failClosed: false, plainHttp: () => false });
 * files[0]?.path; // "/etc/containerd/certs.d/registry.example.com/hosts.toml"
 */
export function runtimeConfig(runtime: Runtime, options: RuntimeConfigOptions): RuntimeConfig {
  return writers[runtime](options);
}

/** The folder of the files. With `name` each registry has a folder, and the file this name. */
const runtimeFiles = {
  containerd: { folder: "/etc/containerd/certs.d", name: "hosts.toml" },
  docker: { folder: "/etc/docker/certs.d", name: "hosts.toml" },
  podman: { folder: "/etc/containers/registries.conf.d", name: null },
  crio: { folder: "/etc/containers/registries.conf.d", name: null },
} as const satisfies Record<Runtime, { readonly folder: string; readonly name: string | null }>;

const mark = "# written by imgmatch, ";

/** Tells whether imgmatch wrote this text and nobody changed it. */
function isOwnText(text: string): boolean {
  return text.startsWith(mark) && text === marked(text.slice(text.indexOf("\n") + 1));
}

function marked(text: string): string {
  return `${mark}${digestOf(Buffer.from(text)).slice("sha256:".length, 23)}\n${text}`;
}

const writers = {
  containerd: (options) => ({
    files: hostsToml(runtimeFiles.containerd.folder, options),
    notes: [
      'config.toml needs config_path = "/etc/containerd/certs.d" in [plugins."io.containerd.grpc.v1.cri".registry] (containerd 1.x) or [plugins."io.containerd.cri.v1.images".registry] (2.x)',
      "ctr reads it with --hosts-dir /etc/containerd/certs.d; hosts.toml itself needs no restart",
    ],
  }),
  docker: (options) => ({
    files: hostsToml(runtimeFiles.docker.folder, options),
    notes: [
      "Docker 28 and newer with the containerd image store reads it, without a restart",
      `older ones, and graph drivers, do not: there the name is ${options.address}/NAME:TAG, and imgmatch serve needs --blobs redirect or proxy`,
    ],
  }),
  podman: (options) => ({ files: registriesConf(options), notes: [wholeImage] }),
  crio: (options) => ({
    files: registriesConf(options),
    notes: [
      wholeImage,
      "systemctl reload crio",
      "CRI-O gives a Pod's secret to no mirror: private fleets need --blobs proxy and a global_auth_file with the mirror's address",
    ],
  }),
} as const satisfies Record<Runtime, (options: RuntimeConfigOptions) => RuntimeConfig>;

const wholeImage = "it takes a whole image from one place: imgmatch serve needs --blobs redirect or proxy";

/** One file for each registry. containerd knows no smaller unit, so it asks the mirror for other repositories too. */
function hostsToml(
  folder: string,
  { fleets, address, failClosed, plainHttp }: RuntimeConfigOptions,
): RuntimeConfig["files"] {
  const mirror = `http://${address}`;
  const registries = [...new Set(fleets.map(({ registry }) => registry))].sort();
  return registries.map((registry) => {
    const host = apiHost(registry);
    const upstream = `${plainHttp(host) ? "http" : "https"}://${host}`;
    // The mirror is both the server and a host: containerd 1.6 ignores a file with only a server.
    const lines = failClosed
      ? [server(mirror), ...hostTable(mirror, true), ...hostTable(upstream, false)]
      : [server(upstream), ...hostTable(mirror, true)];
    return { path: `${folder}/${registry}/hosts.toml`, content: marked(`${lines.join("\n")}\n`) };
  });
}

const server = (address: string): string => `server = "${address}"`;

/** Only a host with `resolve` is asked for tags. Any host may serve content by digest, which the runtime checks. */
function hostTable(address: string, resolves: boolean): string[] {
  return ["", `[host."${address}"]`, `  capabilities = ["pull"${resolves ? ', "resolve"' : ""}]`];
}

/** One file for each fleet. Its table adds to those of registries.conf (containers-registries.conf.d(5)). */
function registriesConf({
  fleets,
  address,
  failClosed,
  plainHttp,
}: RuntimeConfigOptions): RuntimeConfig["files"] {
  const names = new Map(fleets.map((fleet) => [`${fleet.registry}/${fleet.repository}`, fleet]));
  return [...names].sort().map(([name, { registry, repository }]) => {
    const mirror = [`location = "${address}/${repository}"`, "insecure = true"];
    const upstream = [`location = "${name}"`, ...(plainHttp(apiHost(registry)) ? ["insecure = true"] : [])];
    const [first, second, kind] = failClosed
      ? [mirror, upstream, "digest-only"]
      : [upstream, mirror, "tag-only"];
    const lines = [
      "[[registry]]",
      `prefix = "${name}"`,
      ...first,
      "",
      "[[registry.mirror]]",
      ...second,
      `pull-from-mirror = "${kind}"`,
      "",
    ];
    // A + replaces slashes: no reference has one.
    const path = `${runtimeFiles.podman.folder}/50-imgmatch-${name.replaceAll("/", "+")}.conf`;
    return { path, content: marked(lines.join("\n")) };
  });
}

/** Writes the files. Before it writes any, throws `FILE_EXISTS` for each file that is not imgmatch's. Throws `WRITE_FAILED`. */
export async function installConfig(folder: string, { files }: RuntimeConfig): Promise<void> {
  const foreign = files.filter(({ path }) => !isOwn(join(folder, path)));
  throwProblems(foreign.map(({ path, content }) => fileExists(join(folder, path), content)));
  for (const { path, content } of files) await writeFileAtomic(join(folder, path), content);
}

/** Removes the installed files of a runtime, and answers their paths. A file that was changed by hand stays. Throws `WRITE_FAILED`. */
export function removeConfig(folder: string, runtime: Runtime): readonly string[] {
  const { folder: place, name } = runtimeFiles[runtime];
  const names = attempt(() => readdirSync(join(folder, place)).sort(), []);
  const files = names
    .map((each) => (name === null ? each : join(each, name)))
    .map((each) => join(place, each));
  const installed = files.filter((path) => isThere(join(folder, path)) && isOwn(join(folder, path)));
  for (const path of installed) {
    try {
      rmSync(join(folder, path));
    } catch (error) {
      throw writeFailed(join(folder, path), error);
    }
    // Fails if the registry's folder holds another file.
    if (name !== null) attempt(() => rmdirSync(dirname(join(folder, path))), undefined);
  }
  return installed;
}

/** true also without a file. A link is never imgmatch's. */
function isOwn(path: string): boolean {
  if (!isThere(path)) return true;
  return lstatSync(path).isFile() && isOwnText(readBounded(path, inputLimits.runtimeConfig).toString("utf8"));
}

function fileExists(file: string, content: string): Problem {
  return {
    code: "FILE_EXISTS",
    message:
      "imgmatch did not write this file, or it was changed since. It stays as it is; imgmatch would write:",
    details: content.trimEnd().split("\n"),
    fix: "add the missing lines by hand, or move the file away",
    at: { file },
  };
}
