/** Finds the libraries of the user-space driver, and their version by the name that they link to. Loads none. */

import { type HostIo, textOf } from "../host-io.ts";

/** WSL2: the driver is Windows' own; Linux sees a paravirtual device and these libraries. */
export const wslLibraries = "/usr/lib/wsl/lib";

/** True on WSL2 with GPU support: `/dev/dxg`, or a Microsoft kernel with the libraries in place. */
export function isWsl(io: HostIo): boolean {
  if (io.exists("/dev/dxg")) return true;
  const release = textOf(io, "/proc/sys/kernel/osrelease") ?? "";
  return /microsoft/i.test(release) && io.exists(`${wslLibraries}/libcuda.so.1`);
}

/** Folders of the driver's libraries on different systems. */
export const libraryFolders = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib/powerpc64le-linux-gnu",
  "/usr/lib64",
  "/usr/lib",
  "/lib/x86_64-linux-gnu",
  "/usr/lib/x86_64-linux-gnu/nvidia/current",
  "/usr/lib/aarch64-linux-gnu/nvidia",
  "/usr/lib64/nvidia",
  "/run/opengl-driver/lib",
  "/usr/local/nvidia/lib64",
  "/home/kubernetes/bin/nvidia/lib64",
] as const;

/** Names of NVML for the loader: the bare name first, then folders that are often missing in its cache. */
export const nvmlLibraries = [
  "libnvidia-ml.so.1",
  `${wslLibraries}/libnvidia-ml.so.1`,
  "/run/opengl-driver/lib/libnvidia-ml.so.1",
  "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
  "/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",
] as const;

export const cudaLibraries = nvmlLibraries.map((path) => path.replace("libnvidia-ml", "libcuda"));

export interface LibraryReading {
  readonly version: string;
  readonly source: string;
}

/** Every version that `libnvidia-ml.so.1` or `libcuda.so.1` links to, in the order of a loader's search. */
export function readDriverLibraries(io: HostIo): readonly LibraryReading[] {
  return libraryFolders.flatMap((folder) =>
    ["libnvidia-ml.so", "libcuda.so"].flatMap((name) => {
      const target = io.readLink(`${folder}/${name}.1`);
      const version = parseLibraryTarget(target ?? "");
      return version === null ? [] : [{ version, source: `${folder}/${name}.1` }];
    }),
  );
}

/** `libnvidia-ml.so.570.124.06`, with or without folders before it → `570.124.06`. */
export function parseLibraryTarget(target: string): string | null {
  return /(?:^|\/)lib(?:nvidia-ml|cuda)\.so\.(\d+(?:\.\d+){1,3})$/.exec(target)?.[1] ?? null;
}
