/** The script and the style of the page. The bundler replaces this file by their texts (scripts/bundle-plugins.mjs). */

import type { PageAssets } from "./document.ts";

export async function pageAssets(): Promise<PageAssets> {
  const { bundlePage } = await import(new URL("../../../scripts/page.mjs", import.meta.url).href);
  return bundlePage();
}
