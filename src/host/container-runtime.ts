/** How containers on this host get the GPU: a CDI specification, the NVIDIA runtime (legacy hook), or not at all. */

import { fieldsOf, parseJson } from "../io/json.ts";
import { readContainerToolkit } from "./container-toolkit.ts";
import type { HostFacts } from "./facts.ts";
import { type HostIo, textOf } from "./io.ts";

export const cdiFolders = ["/etc/cdi", "/var/run/cdi", "/run/cdi"] as const;

export const runtimePrograms = [
  "/usr/bin/nvidia-container-runtime",
  "/usr/bin/nvidia-container-cli",
  "/usr/local/nvidia/toolkit/nvidia-container-runtime",
  "/usr/local/bin/nvidia-container-runtime",
  "/run/current-system/sw/bin/nvidia-container-runtime",
] as const;

export const enginePrograms = [
  "/usr/bin/docker",
  "/usr/bin/dockerd",
  "/usr/local/bin/docker",
  "/usr/bin/podman",
  "/usr/bin/containerd",
  "/usr/local/bin/containerd",
  "/usr/bin/crio",
  "/usr/local/bin/k3s",
  "/var/run/docker.sock",
  "/run/containerd/containerd.sock",
] as const;

export interface RuntimeReading {
  readonly facts: HostFacts["runtime"];
  /** By the paths of their facts. */
  readonly sources: Readonly<Record<string, string>>;
}

/** With what is known of the toolkit where it gives containers the GPU. */
export function readContainerRuntime(io: HostIo): RuntimeReading {
  const { nvidia, source } = findRuntime(io);
  const toolkit =
    nvidia === "cdi" || nvidia === "legacy"
      ? readContainerToolkit(io, nvidia === "cdi" ? source : null)
      : null;
  return {
    facts: { nvidia, ...toolkit?.facts },
    sources: { ...(source === null ? {} : { "runtime.nvidia": source }), ...toolkit?.sources },
  };
}

interface FoundRuntime {
  readonly nvidia: HostFacts["runtime"]["nvidia"];
  readonly source: string | null;
}

/** `cdi` before `legacy`; `none` when there is an engine and neither; null when there is no engine to be seen. */
function findRuntime(io: HostIo): FoundRuntime {
  for (const folder of cdiFolders) {
    const spec = io.list(folder).find((name) => isNvidiaSpec(io, folder, name));
    if (spec !== undefined) return { nvidia: "cdi", source: `${folder}/${spec}` };
  }
  const program = runtimePrograms.find((path) => io.exists(path));
  if (program !== undefined) return { nvidia: "legacy", source: program };
  if (hasNvidiaRuntime(textOf(io, "/etc/docker/daemon.json") ?? "")) {
    return { nvidia: "legacy", source: "/etc/docker/daemon.json" };
  }
  const engine = enginePrograms.find((path) => io.exists(path));
  return engine === undefined ? { nvidia: null, source: null } : { nvidia: "none", source: engine };
}

function isNvidiaSpec(io: HostIo, folder: string, name: string): boolean {
  if (!/\.(?:ya?ml|json)$/.test(name)) return false;
  // The kind of the specification decides, its file name is free.
  return /["']?kind["']?\s*:\s*["']?(?:[\w.-]+\.)?nvidia\.com\//.test(textOf(io, `${folder}/${name}`) ?? "");
}

/** Whether a `daemon.json` names a runtime called nvidia. Docker refuses a broken file, so it counts as none here. */
export function hasNvidiaRuntime(text: string): boolean {
  return Object.hasOwn(fieldsOf(fieldsOf(parseJson(text)).runtimes), "nvidia");
}

/** Whether the probe itself runs inside a container, where missing devices mean something else than on a host. */
export function isContainer(io: HostIo): boolean {
  if (io.exists("/.dockerenv") || io.exists("/run/.containerenv")) return true;
  if (io.env.container !== undefined || io.env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  if (/docker|kubepods|containerd|libpod|lxc/.test(textOf(io, "/proc/1/cgroup") ?? "")) return true;
  return isSystemContainer(io);
}

/**
 * LXC, Incus and systemd-nspawn on cgroup v2, whose `/proc/1/cgroup` says nothing. WSL calls itself one too, and is none here.
 * Source: systemd, "The Container Interface": `container=` of PID 1, which systemd as PID 1 writes to /run/systemd/container.
 */
function isSystemContainer(io: HostIo): boolean {
  const first = /(?:^|\0)container=([^\0]*)/.exec(textOf(io, "/proc/1/environ") ?? "")?.[1] ?? "";
  return [first, (textOf(io, "/run/systemd/container") ?? "").trim()].some(
    (manager) => manager !== "" && manager !== "wsl",
  );
}
