/** Lists tags, page by page. */

import type { ImageReference } from "../reference.ts";
import { unlessRefused } from "./advice.ts";
import type { RegistryClient } from "./client.ts";
import { namedUrl, registryUrl } from "./registry-endpoint.ts";
import { malformed, refused, tooLarge } from "./failure.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import {
  type Advising,
  type HttpRequest,
  type HttpResponse,
  type OperationOptions,
  pullRequest,
} from "./transport.ts";

export function tagOperations({
  send,
  plainHttp,
  pageSize,
}: OperationOptions & { readonly pageSize: number }): Pick<RegistryClient, "listTags"> {
  return {
    async *listTags(repository, { advises = false, after } = {}) {
      const first = registryUrl(repository, "tags", "list", plainHttp);
      first.searchParams.set("n", String(pageSize));
      if (after !== undefined) first.searchParams.set("last", after);
      const seen = new Set<string>();
      let pages = 0;
      let left: number = registryLimits.tagBytes;
      for (let url: URL | null = first; url !== null; ) {
        const most = Math.min(registryLimits.tagPageBytes, left);
        const asked = pullRequest(repository, url, most, { accept: "application/json" });
        const request = advises && url === first ? { ...asked, advises: advising } : asked;
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

/** All tags; null where the registry refuses to list them. */
export function listedTags(
  registry: Pick<RegistryClient, "listTags">,
  repository: ImageReference,
): Promise<ReadonlySet<string> | null> {
  const list = async () => {
    const tags = new Set<string>();
    for await (const tag of registry.listTags(repository, { advises: true })) tags.add(tag);
    return tags;
  };
  return unlessRefused(list(), () => null);
}

const advising: Advising = {
  on: "tags",
  wants: "a list of tags",
  isAnswer: (response) =>
    response.status === 404 || (response.status === 200 && parseTags(response.body) !== null),
};

function tagsOf(request: HttpRequest, { body }: HttpResponse): readonly string[] {
  const tags = parseTags(body);
  if (tags === null) throw malformed(request, "the answer is not a list of tags");
  return tags;
}

function parseTags(body: Uint8Array): readonly string[] | null {
  const json = parseJson(body);
  // An empty repository is `"tags": null`.
  const tags = isRecord(json) ? (json.tags ?? []) : null;
  return Array.isArray(tags) && tags.every((tag) => typeof tag === "string") ? tags : null;
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
