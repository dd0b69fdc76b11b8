/** How the driver serves an image, in words. */

import type { Tier } from "./verdict.ts";

/**
 * Nothing for `native`, where the driver knows the whole toolkit of the image.
 *
 * @param pack the image's forward-compatibility package, if one serves
 */
export function tierWords(tier: Tier | null, pack: string | null = null): readonly string[] {
  if (tier === "minor") return ["on a driver older than its toolkit, by minor-version compatibility"];
  if (tier !== "forward") return [];
  return [`on an older driver, by its forward-compatibility package${pack === null ? "" : ` ${pack}`}`];
}
