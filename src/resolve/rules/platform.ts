/** Rule: the image is for this operating system and architecture. */

import { marchPlatforms } from "../../hardware/march-platforms.ts";
import { type HostView, normalizePlatform } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";

export function checkPlatform(platform: string, host: Pick<HostView, "platform">): Misfit | null {
  if (normalizePlatform(platform) === host.platform) return null;
  return misfit(
    "ARCH_MISMATCH",
    `is built for ${platform}, this host is ${host.platform}`,
    marchPlatforms.includes(host.platform)
      ? [
          {
            text: `add a cell whose march belongs to ${host.platform}`,
            remedy: { kind: "platform", platform: host.platform },
            adopted: `adopt an image for ${host.platform}`,
          },
        ]
      : `run it on a ${platform} host: no march belongs to ${host.platform}`,
  );
}
