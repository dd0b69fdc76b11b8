/** Lists what a repository has, page by page (OCI distribution-spec, "Content Discovery"). */

import type { Ask, ExpectedAnswer } from "./ask.ts";
import type { AdviceOptions } from "./client.ts";
import { malformed, tooLarge } from "./failure.ts";
import { namedUrl } from "./registry-endpoint.ts";
import type { HttpRequest } from "./transport.ts";

interface List<T> extends Pick<ExpectedAnswer<unknown>, "on" | "wants"> {
  /** undefined for a body that is no page, null where the registry says that there is no list. */
  readonly read: (body: Uint8Array) => readonly T[] | null | undefined;
  /** A page without a new key that has a next one would go on for ever. */
  readonly keyOf: (entry: T) => string;
  readonly most: {
    readonly pages: number;
    readonly pageBytes: number;
    readonly bytes: number;
    readonly entries: number;
  };
}

/**
 * Yields the new entries of each page; nothing at all where there is no list. Only the first page advises: a list whose rest is refused is no
 * answer.
 */
export async function* pagesOf<T>(
  ask: Ask,
  first: HttpRequest,
  { on, wants, read, keyOf, most }: List<T>,
  advice: AdviceOptions = {},
): AsyncGenerator<readonly T[]> {
  const seen = new Set<string>();
  let left = most.bytes;
  let { url } = first;
  for (let pages = 1; ; pages++) {
    const request = { ...first, url, maxBytes: Math.min(most.pageBytes, left) };
    const expected: ExpectedAnswer<{ readonly entries: readonly T[]; readonly next: URL | null } | null> = {
      ...{ wants, ...(on && { on }) },
      read({ status, headers, body }) {
        left -= body.byteLength;
        const entries = status === 200 ? read(body) : status === 404 ? null : undefined;
        if (entries === null) return pages === 1 ? null : undefined;
        return entries && { entries, next: nextPage(url, headers.link) };
      },
    };
    const page = await ask(request, expected, pages === 1 ? advice : {});
    if (page === null) return;
    const fresh = page.entries.filter((entry) => !seen.has(keyOf(entry)));
    for (const entry of fresh) seen.add(keyOf(entry));
    if (pages > most.pages || seen.size > most.entries)
      throw tooLarge(
        request,
        `the list does not end: more than ${most.entries} entries on ${most.pages} pages`,
      );
    if (page.next !== null && fresh.length === 0)
      throw malformed(request, `the pages go in a circle after ${seen.size} entries`);
    yield fresh;
    if (page.next === null) return;
    url = page.next;
  }
}

/**
 * The target of `Link: <…>; rel="next"` (RFC 8288), always on the same host: registries behind a proxy often name the wrong scheme, and the
 * login must not go elsewhere.
 */
function nextPage(current: URL, link: string | string[] | undefined): URL | null {
  const header = Array.isArray(link) ? link.join(", ") : (link ?? "");
  // No `<` inside the target: so each try ends at the next `<`, and the time is linear.
  const target = namedUrl(/<([^<>]*)>\s*;[^,<]*\brel="?next"?/i.exec(header)?.[1], current);
  if (target === null) return null;
  const { pathname, search } = target;
  return Object.assign(new URL(current), { pathname, search });
}
