/** Rule: the image is for this operating system and architecture. */

import { type HostView, normalizePlatform } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";

export function checkPlatform(platform: string, host: HostView): Misfit | null {
  if (normalizePlatform(platform) === host.platform) return null;
  return misfit(
    "ARCH_MISMATCH",
    `is built for ${platform}, this host is ${host.platform}`,
    hasMarches(host.platform)
      ? `add a cell whose march belongs to ${host.platform}`
      : `run it on a ${platform} host: no march belongs to ${host.platform}`,
  );
}

/** The platforms that a cell can be built for: those of the march table, which need not be loaded to say so. */
export function hasMarches(platform: string): boolean {
  return platforms.has(platform);
}

const platforms: ReadonlySet<string> = new Set(["linux/amd64", "linux/arm64", "linux/ppc64le"]);
