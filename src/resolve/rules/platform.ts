/** Rules: the image is for the host's operating system and architecture, and its libc runs on the host's kernel. */

import { compareVersions, parseVersion } from "../../hardware/driver-version.ts";
import { marchPlatforms } from "../../hardware/march-platforms.ts";
import type { HostView } from "../host-view.ts";
import { normalizePlatform } from "../../lock/lock.ts";
import { byHand, misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";
import { rule } from "./rule.ts";

export const platformRule = rule({
  image: ({ platform }) => platform,
  asks: ["platform"],
  answer: checkPlatform,
});

export const kernelRule = rule({
  image: ({ requires }) => requires.kernel,
  asks: ["kernel"],
  answer: checkKernel,
});

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

function checkKernel(minimum: string | undefined, host: Pick<HostView, "kernel">): Misfit | null {
  if (minimum === undefined) return null;
  const needed = parseVersion(minimum);
  if (host.kernel === null || needed === null) {
    return misfit(
      "KERNEL_TOO_OLD",
      `needs kernel >= ${minimum}, this host's kernel ${host.kernel === null ? "is unknown" : `is ${host.kernel.text}`}`,
      needed === null
        ? "correct requires.kernel in the lock: it is no version"
        : "probe the host itself, so that its kernel is known",
    );
  }
  if (compareVersions(host.kernel.parts, needed) >= 0) return null;
  return misfit("KERNEL_TOO_OLD", `needs kernel >= ${minimum}, this host has ${host.kernel.text}`, [
    { text: `update the kernel: ${host.kernel.text} → >= ${minimum}`, remedy: { kind: "kernel", minimum } },
    byHand("use an image with an older libc"),
  ]);
}
