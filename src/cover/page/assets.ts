/** The page's script and style. The bundler puts their texts here (scripts/bundle-plugins.mjs); from the sources they are made when asked for. */

import type { PageAssets } from "./document.ts";

export async function pageAssets(): Promise<PageAssets> {
  const { bundlePage } = await import(new URL("../../../scripts/page.mjs", import.meta.url).href);
  return bundlePage();
}
