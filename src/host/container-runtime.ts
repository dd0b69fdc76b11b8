/** Finds the way of containers to the GPUs of this host: a CDI specification, the vendor's runtime (legacy hook), or none. */

import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import { fieldsOf, parseJson } from "../io/json.ts";
import type { ContainerGpus } from "../facts/facts.ts";
import { type HostIo, textOf } from "./host-io.ts";

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

/** A vendor's words in specifications of CDI and in `daemon.json`, and its own programs. */
interface Vendor {
  /** The kind of a specification decides; its file name is free. */
  readonly kind: RegExp;
  readonly runtime: string;
  readonly programs: readonly string[];
}

const vendors: Readonly<Record<GpuVendor, Vendor>> = {
  nvidia: {
    kind: /["']?kind["']?\s*:\s*["']?(?:[\w.-]+\.)?nvidia\.com\//,
    runtime: "nvidia",
    programs: runtimePrograms,
  },
  amd: {
    kind: /["']?kind["']?\s*:\s*["']?amd\.com\/gpu/,
    runtime: "amd",
    // ROCm/container-toolkit, commit 192fe8e: build/deb
    programs: ["/usr/bin/amd-container-runtime", "/usr/local/bin/amd-container-runtime"],
  },
};

export interface RuntimeReading {
  readonly way: ContainerGpus | null;
  readonly source: string | null;
}

/**
 * Prefers `cdi` to `legacy`. `none` with an engine and neither of them; null without a visible engine, and on WSL2, where Docker Desktop
 * keeps engine and toolkit in a separate virtual machine.
 */
export function readContainerRuntime(io: HostIo, vendor: GpuVendor): RuntimeReading {
  const { runtime, programs } = vendors[vendor];
  const [spec] = specifications(io, vendor);
  if (spec !== undefined) return { way: "cdi", source: spec };
  const program = programs.find((path) => io.exists(path));
  if (program !== undefined) return { way: "legacy", source: program };
  const daemon = textOf(io, "/etc/docker/daemon.json");
  if (daemon !== null && hasRuntime(daemon, runtime))
    return { way: "legacy", source: "/etc/docker/daemon.json" };
  const engine = enginePrograms.find((path) => io.exists(path));
  return engine === undefined || isWsl(io) ? { way: null, source: null } : { way: "none", source: engine };
}

/** The specifications of CDI with GPUs of the vendor. */
export function specifications(io: HostIo, vendor: GpuVendor): readonly string[] {
  const { kind } = vendors[vendor];
  return cdiFolders.flatMap((folder) =>
    io
      .list(folder)
      .filter((name) => /\.(?:ya?ml|json)$/.test(name))
      .map((name) => `${folder}/${name}`)
      .filter((path) => kind.test(textOf(io, path) ?? "")),
  );
}

/** True if a `daemon.json` has a runtime of this name. Docker refuses a broken file, so it counts as none here. */
export function hasRuntime(text: string, name: string): boolean {
  return Object.hasOwn(fieldsOf(fieldsOf(parseJson(text)).runtimes), name);
}

/** True if the probe runs inside a container, where missing devices have another meaning than on a host. */
export function isContainer(io: HostIo): boolean {
  if (io.exists("/.dockerenv") || io.exists("/run/.containerenv")) return true;
  if (io.env.container !== undefined || io.env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  if (/docker|kubepods|containerd|libpod|lxc/.test(textOf(io, "/proc/1/cgroup") ?? "")) return true;
  return isSystemContainer(io);
}

/**
 * Finds LXC, Incus and systemd-nspawn on cgroup v2, whose `/proc/1/cgroup` tells nothing. WSL calls itself a container too; it does not count.
 * Source: systemd, "The Container Interface": `container=` of PID 1, which systemd as PID 1 writes to /run/systemd/container.
 */
function isSystemContainer(io: HostIo): boolean {
  const first = /(?:^|\0)container=([^\0]*)/.exec(textOf(io, "/proc/1/environ") ?? "")?.[1] ?? "";
  return [first, (textOf(io, "/run/systemd/container") ?? "").trim()].some(
    (manager) => manager !== "" && manager !== "wsl",
  );
}

/** WSL2: the driver is Windows' own; Linux sees a paravirtual device and these libraries. */
export const wslLibraries = "/usr/lib/wsl/lib";
export const wslDrivers = "/usr/lib/wsl/drivers";
/** Files of NVIDIA's Windows driver. */
export const wslFiles = ["libcuda.so.1", "libnvidia-ml.so.1", "nvidia-smi"] as const;

/** True on WSL2 with GPU support: `/dev/dxg`, or a Microsoft kernel with the libraries in place. */
export function isWsl(io: HostIo): boolean {
  if (io.exists("/dev/dxg")) return true;
  const release = textOf(io, "/proc/sys/kernel/osrelease") ?? "";
  return /microsoft/i.test(release) && io.exists(`${wslLibraries}/libcuda.so.1`);
}
