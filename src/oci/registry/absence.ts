/** Tells, for a publisher, a tag that is not there from a tag that is hidden: some registries answer 403 for both (Artifactory). */

import { parseImageReference } from "../reference.ts";
import { registryErrors } from "./failure.ts";
import { emptyIndex, transientTag } from "./transient-tag.ts";
import { asking, type OperationOptions } from "./ask.ts";
import { tagOperations } from "./tags.ts";
import type { HttpRequest, HttpResponse, Send } from "./transport.ts";

/**
 * Answers 404 in place of 403 for a tag in a repository that the run writes (sigstore/cosign#2973), if this is certain. A fresh tag, which
 * this function writes, is readable and listed; a name without a tag gets the same 403 and code; and the list lacks the tag in question.
 * Removes the fresh tag, where the registry allows that.
 *
 * @param isWritten tells whether the run writes the repository of a request
 */
export function withAbsence(
  { send, plainHttp }: Pick<OperationOptions, "plainHttp"> & { readonly send: Send },
  isWritten: (request: HttpRequest) => boolean,
): Send {
  return async (request) => {
    const response = await send(request);
    const tag = tagToRead(request);
    if (response.status !== 403 || tag === null || !isWritten(request)) return response;
    const isAbsent = await isAbsentFor(request, tag).catch(() => false);
    // Another publisher may have written it meanwhile.
    return isAbsent ? { ...response, status: 404, statusText: "Not Found" } : send(request);
  };

  async function isAbsentFor(request: HttpRequest, tag: string): Promise<boolean> {
    const get = (name: string) => send({ ...nameIn(request, name), method: "GET" });
    const [refusal, unwritten] = [await get(tag), await get(transientTag())];
    const code = codeOf(refusal);
    if (code === null || code !== codeOf(unwritten)) return false;
    const own = transientTag();
    const { bytes, mediaType } = emptyIndex(own);
    const named = nameIn(request, own);
    const headers = { ...request.headers, "content-type": mediaType };
    const scope = { repository: request.scope?.repository ?? "", actions: "pull,push" } as const;
    const written = await send({ ...named, method: "PUT", headers, body: bytes, scope });
    if (written.status >= 300) return false;
    try {
      if ((await get(own)).status !== 200) return false;
      const listed: string[] = [];
      const { listTags } = tagOperations({ ask: asking(send), plainHttp, pageSize: 1000 });
      const repository = parseImageReference(`${request.url.host}/${scope.repository}`);
      for await (const each of listTags(repository)) listed.push(each);
      return listed.includes(own) && !listed.includes(tag);
    } finally {
      await send({ ...named, method: "DELETE", scope: { ...scope, actions: "delete,pull" } }).catch(() => {});
    }
  }
}

/** null for a request that does not read a tag. */
function tagToRead({ method, url }: HttpRequest): string | null {
  if (method !== "GET" && method !== "HEAD") return null;
  return /\/manifests\/(?!sha256:)([^/]+)$/.exec(url.pathname)?.[1] ?? null;
}

function nameIn(request: HttpRequest, name: string): HttpRequest {
  const url = new URL(request.url);
  url.pathname = url.pathname.replace(/[^/]+$/, name);
  return { ...request, url };
}

/** The registry's own code of its 403; null for another answer, and for a page that some proxy may have written. */
function codeOf({ status, body }: HttpResponse): string | null {
  const codes = registryErrors(body).map(({ code }) => code);
  return status === 403 && codes.length > 0 ? codes.join() : null;
}
