/** Lists tags, page by page. */

import type { RegistryClient } from "./client.ts";
import { namedUrl, registryUrl } from "./registry-endpoint.ts";
import { malformed, refused, tooLarge } from "./failure.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import { type HttpRequest, type HttpResponse, type OperationOptions, pullRequest } from "./transport.ts";

export function tagOperations({
  send,
  plainHttp,
  pageSize,
}: OperationOptions & { readonly pageSize: number }): Pick<RegistryClient, "listTags"> {
  return {
    async *listTags(repository) {
      const first = registryUrl(repository, "tags", "list", plainHttp);
      first.searchParams.set("n", String(pageSize));
      const seen = new Set<string>();
      let pages = 0;
      let left: number = registryLimits.tagBytes;
      for (let url: URL | null = first; url !== null; ) {
        const most = Math.min(registryLimits.tagPageBytes, left);
        const request = pullRequest(repository, url, most, { accept: "application/json" });
        const response = await send(request);
        if (response.status === 404 && url === first) return;
        if (response.status !== 200) throw refused(request, response);
        left -= response.body.byteLength;
        const fresh = tagsOf(request, response).filter((tag) => !seen.has(tag));
        if (++pages > registryLimits.tagPages || seen.size + fresh.length > registryLimits.tags) {
          const most = `${registryLimits.tags} tags on ${registryLimits.tagPages} pages`;
          throw tooLarge(request, `the list of tags does not end: more than ${most}`);
        }
        url = nextPage(url, response.headers.link);
        // Pages without a new tag would go on for ever.
        if (url !== null && fresh.length === 0)
          throw malformed(request, `the pages go in a circle after ${seen.size} tags`);
        for (const tag of fresh) {
          seen.add(tag);
          yield tag;
        }
      }
    },
  };
}

function tagsOf(request: HttpRequest, { body }: HttpResponse): string[] {
  const json = parseJson(body);
  // An empty repository is `"tags": null`.
  const tags = isRecord(json) ? (json.tags ?? []) : null;
  if (!Array.isArray(tags) || !tags.every((tag) => typeof tag === "string")) {
    throw malformed(request, "the answer is not a list of tags");
  }
  return tags;
}

/**
 * The target of `Link: <…>; rel="next"` (RFC 8288), always on the same host: registries behind a proxy often name the wrong scheme, and the
 * login must not go elsewhere.
 */
export function nextPage(current: URL, link: string | string[] | undefined): URL | null {
  const header = Array.isArray(link) ? link.join(", ") : (link ?? "");
  // No `<` inside the target: so each try ends at the next `<`, and the time is linear.
  const target = namedUrl(/<([^<>]*)>\s*;[^,<]*\brel="?next"?/i.exec(header)?.[1], current);
  if (target === null) return null;
  const { pathname, search } = target;
  return Object.assign(new URL(current), { pathname, search });
}
