/** Whether the probe itself runs inside a container, where missing devices mean something else than on a host. */

import { type HostIo, textOf } from "./io.ts";

export function isContainer(io: HostIo): boolean {
  if (io.exists("/.dockerenv") || io.exists("/run/.containerenv")) return true;
  if (io.env.container !== undefined || io.env.KUBERNETES_SERVICE_HOST !== undefined) return true;
  return /docker|kubepods|containerd|libpod|lxc/.test(textOf(io, "/proc/1/cgroup") ?? "");
}
