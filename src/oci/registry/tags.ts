/** Lists tags. */

import type { OperationOptions } from "./ask.ts";
import type { ImageReference } from "../reference.ts";
import type { RegistryClient } from "./client.ts";
import { pagesOf } from "./pages.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import { requestTo } from "./transport.ts";

const list = {
  on: "tags",
  wants: "a list of tags",
  read: parseTags,
  keyOf: (tag: string) => tag,
  most: {
    pages: registryLimits.tagPages,
    pageBytes: registryLimits.tagPageBytes,
    bytes: registryLimits.tagBytes,
    entries: registryLimits.tags,
  },
} as const;

export function tagOperations({
  ask,
  plainHttp,
  pageSize,
}: OperationOptions & { readonly pageSize: number }): Pick<RegistryClient, "listTags"> {
  return {
    async *listTags(repository, { prefix, ...advice } = {}) {
      const url = registryUrl(repository, "tags", "list", plainHttp);
      url.searchParams.set("n", String(pageSize));
      if (prefix !== undefined) url.searchParams.set("last", prefix);
      const first = requestTo(repository, url, { headers: { accept: "application/json" } });
      for await (const page of pagesOf(ask, first, list, advice)) {
        yield* page;
        const [last = ""] = page.slice(-1);
        if (prefix !== undefined && isAscending([prefix, ...page]) && !last.startsWith(prefix)) return;
      }
    },
  };
}

function isAscending(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || name > (names[index - 1] ?? ""));
}

/**
 * All tags; null where the registry refuses to list them.
 *
 * @param prefix only those that begin so, in a registry that sorts
 */
export async function listedTags(
  registry: Pick<RegistryClient, "listTags">,
  repository: ImageReference,
  prefix?: string,
): Promise<ReadonlySet<string> | null> {
  const tags = new Set<string>();
  let isRefused = false;
  const onRefusal = (): void => {
    isRefused = true;
  };
  for await (const tag of registry.listTags(repository, { onRefusal, prefix })) tags.add(tag);
  return isRefused ? null : tags;
}

function parseTags(body: Uint8Array): readonly string[] | undefined {
  const json = parseJson(body);
  // An empty repository is `"tags": null`.
  const tags = isRecord(json) ? (json.tags ?? []) : null;
  return Array.isArray(tags) && tags.every((tag) => typeof tag === "string") ? tags : undefined;
}
