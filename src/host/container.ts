/** Whether the probe itself runs inside a container, where missing devices mean something else than on a host. */

import { type HostIo, textOf } from "./io.ts";

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
