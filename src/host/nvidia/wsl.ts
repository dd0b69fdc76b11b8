/** WSL2: the driver is Windows' own, Linux sees a paravirtual device and a set of libraries. */

import { type HostIo, textOf } from "../host-io.ts";

export const wslLibraries = "/usr/lib/wsl/lib";

/** Whether this is WSL2 with GPU support: `/dev/dxg`, or a Microsoft kernel with the libraries in place. */
export function isWsl(io: HostIo): boolean {
  if (io.exists("/dev/dxg")) return true;
  const release = textOf(io, "/proc/sys/kernel/osrelease") ?? "";
  return /microsoft/i.test(release) && io.exists(`${wslLibraries}/libcuda.so.1`);
}
