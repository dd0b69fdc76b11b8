/** Rule: the image is for this operating system and architecture. */

import { type HostView, normalizePlatform } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";

export function checkPlatform(platform: string, host: HostView): Misfit | null {
  if (normalizePlatform(platform) === host.platform) return null;
  return misfit(
    "ARCH_MISMATCH",
    `is built for ${platform}, this host is ${host.platform}`,
    `add a cell whose march belongs to ${host.platform}`,
  );
}
