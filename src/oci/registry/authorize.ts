/** Logs in to a registry when it asks for it: with a token, or with name and password. */

import { basicHeader, type CredentialStore } from "./credential.ts";
import { parseChallenge, requestToken } from "./token.ts";
import { authFailed, tookTooLong } from "./failure.ts";
import type { HttpRequest, HttpResponse, Send } from "./transport.ts";

interface AuthorizationOptions {
  readonly credentials: CredentialStore;
  readonly plainHttp: (host: string) => boolean;
}

interface Authorization {
  /** The refused header that this one replaces; null if none was sent. */
  readonly replaces: string | null;
  readonly header: Promise<string>;
}

// A shared token can be out of date when it arrives, so a second one is fetched before a refusal counts.
const mostRenewals = 2;
// A request that is sent only once follows a look at the tag, which must not be old by then. A token server may take long.
const longestRenewalMs = 1000;

/**
 * Sends each request with the authorization of its host and scope, and gets one when the registry answers 401. A token serves all requests of
 * its scope until it is refused, whatever the clock says.
 *
 * @param send sends to the registry and follows redirects
 * @param sendToken sends to token servers, and follows no redirect with the login
 */
export function withAuthorization(send: Send, sendToken: Send, options: AuthorizationOptions): Send {
  const known = new Map<string, Authorization>();

  function renew(key: string, refused: string | null, obtain: () => Promise<string>): Promise<string> {
    const current = known.get(key);
    if (current?.replaces === refused) return current.header;
    const next = { replaces: refused, header: obtain() };
    known.set(key, next);
    next.header.catch(() => {
      if (known.get(key) === next) known.delete(key);
    });
    return next.header;
  }

  return async (request) => {
    const key = `${request.url.origin} ${request.scope ?? ""}`;
    let header: string | null = (await known.get(key)?.header) ?? null;
    for (let renewals = 0; ; renewals++) {
      const response = await send(authorized(request, header));
      // The storage that the registry redirects to may not ask for a login.
      const asks = response.status === 401 && response.url.origin === request.url.origin;
      if (!asks || renewals === mostRenewals) return response;
      const refused = header;
      const started = performance.now();
      header = await renew(key, refused, () => obtainHeader(request, response, sendToken, options));
      // The same name and password would be refused again.
      if (header === refused) return response;
      if (request.once && performance.now() - started > longestRenewalMs) throw tookTooLong(request);
    }
  };
}

async function obtainHeader(
  request: HttpRequest,
  response: HttpResponse,
  sendToken: Send,
  { credentials, plainHttp }: AuthorizationOptions,
): Promise<string> {
  const challenge = parseChallenge(response.headers["www-authenticate"]);
  const { host } = request.url;
  if (challenge === null)
    throw authFailed(request, "401, but the registry does not say which login it wants");
  const credential = await credentials.find(host);
  if (credential?.kind === "bearer") return `Bearer ${credential.token}`;
  if (challenge.scheme === "bearer") {
    return `Bearer ${await requestToken(request, challenge, credential, { send: sendToken, plainHttp })}`;
  }
  if (credential === null) throw authFailed(request, `401, and there is no login for ${host}`);
  if (credential.kind === "identity") {
    throw authFailed(
      request,
      `401, and ${host} takes a name and password, not the identity token that is stored for it`,
    );
  }
  return basicHeader(credential.username, credential.password);
}

function authorized(request: HttpRequest, header: string | null): HttpRequest {
  return header === null ? request : { ...request, headers: { ...request.headers, authorization: header } };
}
