/** Access to the device files of this machine's AMD GPUs. */

import { statSync } from "node:fs";
import { attempt } from "../../io/attempt.ts";
import { isAmd } from "./gpu-needs.ts";
import type { GpuUnit } from "./gpu-units.ts";
import type { DeviceAccess, LaunchRequest } from "./target.ts";

interface Owner {
  readonly gid: number;
  readonly mode: number;
}

/** Nothing for GPUs of NVIDIA, whose runtime sees to it. */
export function accessTo(
  units: readonly GpuUnit[],
  ownerOf: (device: string) => Owner | null = (device) => attempt(() => statSync(device), null),
  user = process.getuid?.() ?? 0,
): Pick<LaunchRequest, "access"> {
  const cards = units.filter(isAmd);
  if (cards.length === 0) return {};
  const devices = ["/dev/kfd", ...cards.flatMap(({ gpu }) => gpu.render ?? [])];
  const gids = devices.flatMap((device) => {
    const owner = ownerOf(device);
    return owner === null || forEverybody(owner) ? [] : [owner.gid];
  });
  const access: DeviceAccess = { groups: [...new Set(gids)].sort((a, b) => a - b), user };
  return { access };
}

/** As on Fedora. */
function forEverybody({ mode }: Owner): boolean {
  return (mode & 0o6) === 0o6;
}
