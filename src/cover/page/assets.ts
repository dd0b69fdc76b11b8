/** The script and the style of the page: texts of the bundle, or bundled now from the source. */

import type { PageAssets } from "./document.ts";

// Replaced by the bundler with the texts, which drops the import below.
declare const IMGMATCH_PAGE_SCRIPT: string;
declare const IMGMATCH_PAGE_STYLE: string;

export async function pageAssets(): Promise<PageAssets> {
  if (typeof IMGMATCH_PAGE_SCRIPT === "string")
    return { script: IMGMATCH_PAGE_SCRIPT, style: IMGMATCH_PAGE_STYLE };
  // @ts-expect-error: the bundler's script has no types
  const { bundlePage } = await import("../../../scripts/page.mjs");
  return bundlePage();
}
