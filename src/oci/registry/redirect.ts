/** Follows redirects of reads. For a blob, registries redirect to a signed address of their storage. */

import { malformed } from "./failure.ts";
import { registryLimits } from "../../io/limits.ts";
import { namedUrl } from "./registry-endpoint.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";

/** The parts of an answer that can redirect. */
type Answered = Pick<HttpResponse, "status" | "headers">;

const redirects = new Set([301, 302, 303, 307, 308]);

/** Sends authorization only to the first host, and not again if a redirect leads back to it. */
export function withRedirects<Answer extends Answered>(
  send: (request: HttpRequest) => Promise<Answer>,
  plainHttp: (host: string) => boolean,
): (request: HttpRequest) => Promise<Answer> {
  return async (request) => {
    let current = request;
    for (let count = 0; ; count++) {
      const response = await send(current);
      if (!redirects.has(response.status)) return response;
      if (request.method !== "GET" && request.method !== "HEAD") return response;
      if (count === registryLimits.redirects)
        throw malformed(request, `more than ${registryLimits.redirects} redirects`);
      current = redirected(current, response.headers.location, plainHttp);
    }
  };
}

function redirected(
  from: HttpRequest,
  location: string | undefined,
  plainHttp: (host: string) => boolean,
): HttpRequest {
  const to = namedUrl(location, from.url);
  if (to === null)
    throw malformed(from, `redirects to ${JSON.stringify(location ?? "")}, which is no address`);
  const plainAllowed =
    from.url.protocol === "http:" && (to.hostname === from.url.hostname || plainHttp(to.host));
  if (to.protocol !== "https:" && !(to.protocol === "http:" && plainAllowed)) {
    throw malformed(from, `redirects to ${to.origin}, which is not https`);
  }
  if (to.origin === from.url.origin) return { ...from, url: to };
  const headers = Object.entries(from.headers).filter(([name]) => name.toLowerCase() !== "authorization");
  return { ...from, url: to, headers: Object.fromEntries(headers) };
}
