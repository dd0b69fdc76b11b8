/** Logs in to a registry when it asks for it: with a token, or with name and password. */

import { basicHeader, type Credential, type CredentialStore } from "./credential.ts";
import { authFailed, malformed, refused, tookTooLong } from "./failure.ts";
import type { HttpRequest, HttpResponse, Send } from "./transport.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import { isLoopback, namedUrl } from "./registry-endpoint.ts";

interface AuthorizationOptions {
  readonly credentials: CredentialStore;
  readonly plainHttp: (host: string) => boolean;
}

interface Authorization {
  /** The header that was refused before; null if none was sent. */
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

  const { program } = options.credentials;
  const withProgram = (response: HttpResponse): HttpResponse =>
    program === undefined ? response : { ...response, loginBy: program };

  return async (request) => {
    const key = `${request.url.origin} ${scopeText(request) ?? ""}`;
    let header: string | null = (await known.get(key)?.header) ?? null;
    for (let renewals = 0; ; renewals++) {
      const response = await send(authorized(request, header));
      // The storage that the registry redirects to may not ask for a login.
      const asks = response.status === 401 && response.url.origin === request.url.origin;
      if (!asks || renewals === mostRenewals) return withProgram(response);
      const refused = header;
      const started = performance.now();
      header = await renew(key, refused, () => obtainHeader(request, response, sendToken, options));
      // The same name and password would be refused again.
      if (header === refused) return withProgram(response);
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
  const fail = (what: string) => authFailed(request, what, credentials.program);
  if (challenge === null) throw fail("401, but the registry does not say which login it wants");
  const credential = await credentials.find(host);
  if (credential?.kind === "bearer") return `Bearer ${credential.token}`;
  if (challenge.scheme === "bearer") {
    const options = { send: sendToken, plainHttp, fail };
    return `Bearer ${await requestToken(request, challenge, credential, options)}`;
  }
  if (credential === null) throw fail(`401, and there is no login for ${host}`);
  if (credential.kind === "identity") {
    throw fail(`401, and ${host} takes a name and password, not the identity token that is stored for it`);
  }
  return basicHeader(credential.username, credential.password);
}

export function authorized(request: HttpRequest, header: string | null): HttpRequest {
  return header === null ? request : { ...request, headers: { ...request.headers, authorization: header } };
}

type BearerChallenge = Extract<Challenge, { scheme: "bearer" }>;

interface TokenOptions extends Pick<AuthorizationOptions, "plainHttp"> {
  readonly send: Send;
  readonly fail: (what: string) => Error;
}

/**
 * Fetches the token for a scope (distribution, `docs/content/spec/auth/token.md` and `oauth.md`).
 * Throws `REGISTRY_AUTH` for a refused login, `REGISTRY_UNREACHABLE` and `REGISTRY_FAILED` for a failing token server.
 */
async function requestToken(
  request: HttpRequest,
  challenge: BearerChallenge,
  credential: Credential | null,
  { send, plainHttp, fail }: TokenOptions,
): Promise<string> {
  const url = tokenUrl(request, challenge, plainHttp);
  const parameters = new URLSearchParams();
  if (challenge.service !== null) parameters.set("service", challenge.service);
  const login = isOtherLocalServer(request.url, url) ? null : credential;
  const wanted = { url, parameters, scopes: scopesOf(request, challenge) };
  const outgoing =
    login?.kind === "identity" ? oauthRequest(wanted, login.token) : tokenRequest(wanted, login);
  const response = await send(outgoing);
  if (response.status === 400 || response.status === 401 || response.status === 403) {
    const who = login === null ? "without a login" : "with the stored login";
    throw fail(`the token server ${url.host} answered ${response.status} ${who}`);
  }
  if (response.status !== 200) throw refused(outgoing, response);
  const json = parseJson(response.body);
  const token = isRecord(json) ? (text(json.token) ?? text(json.access_token)) : null;
  if (token === null || !/^[\x21-\x7e]+$/.test(token))
    throw malformed(outgoing, "the token server's answer holds no token");
  return token;
}

interface Wanted {
  readonly url: URL;
  readonly parameters: URLSearchParams;
  readonly scopes: readonly string[];
}

function tokenRequest({ url, parameters, scopes }: Wanted, credential: Credential | null): HttpRequest {
  for (const scope of scopes) parameters.append("scope", scope);
  const headers: Record<string, string> = { accept: "application/json" };
  if (credential?.kind === "password") {
    parameters.set("account", credential.username);
    headers.authorization = basicHeader(credential.username, credential.password);
  }
  const address = new URL(url);
  for (const [name, value] of parameters) address.searchParams.append(name, value);
  return { method: "GET", url: address, headers, maxBytes: registryLimits.tokenBytes };
}

function oauthRequest({ url, parameters, scopes }: Wanted, token: string): HttpRequest {
  parameters.set("grant_type", "refresh_token");
  parameters.set("client_id", "imgmatch");
  parameters.set("refresh_token", token);
  parameters.set("scope", scopes.join(" "));
  return {
    method: "POST",
    url,
    headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
    body: Buffer.from(parameters.toString()),
    maxBytes: registryLimits.tokenBytes,
  };
}

/** The scopes of the challenge and of the request, each once. */
function scopesOf(request: HttpRequest, challenge: BearerChallenge): string[] {
  const wanted = challenge.scope?.split(" ").filter((each) => each !== "") ?? [];
  const own = scopeText(request);
  return [...new Set(own === null ? wanted : [...wanted, own])];
}

/** `repository:team/app:pull` */
function scopeText({ scope }: HttpRequest): string | null {
  return scope === undefined ? null : `repository:${scope.repository}:${scope.actions}`;
}

/** Each port of this machine may be another user's: a registry on loopback must not send the login to another port. */
function isOtherLocalServer(registry: URL, realm: URL): boolean {
  return isLoopback(registry.host) && registry.host !== realm.host;
}

/** The login goes there, so it must be https unless the registry itself is plain. */
function tokenUrl(
  request: HttpRequest,
  { realm }: BearerChallenge,
  plainHttp: (host: string) => boolean,
): URL {
  const url = namedUrl(realm, request.url);
  const plain =
    request.url.protocol === "http:" &&
    url?.protocol === "http:" &&
    (url.hostname === request.url.hostname || plainHttp(url.host));
  if (url === null || (url.protocol !== "https:" && !plain)) {
    throw malformed(request, `its token server ${JSON.stringify(realm)} is not an https address`);
  }
  return url;
}

/** A `WWW-Authenticate` header (RFC 9110, 11.6.1) of a registry. */
type Challenge =
  | {
      readonly scheme: "bearer";
      readonly realm: string;
      readonly service: string | null;
      readonly scope: string | null;
    }
  | { readonly scheme: "basic" };

// The lookbehind keeps the time linear: without it, a long name would be tried at every character.
const part =
  /(?<![\w-])([A-Za-z][\w-]*)(?=\s+[\w-]+\s*=)|(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/** Prefers Bearer to Basic; null if there is neither. */
export function parseChallenge(header: string | undefined): Challenge | null {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  for (const [, scheme, key, quoted, plain] of (header ?? "").matchAll(part)) {
    if (scheme !== undefined) found.push({ scheme: scheme.toLowerCase(), parameters: new Map() });
    else if (key !== undefined) {
      const value = quoted?.replace(/\\(.)/g, "$1") ?? plain ?? "";
      found.at(-1)?.parameters.set(key.toLowerCase(), value);
    }
  }
  const bearer = found.find(({ scheme, parameters }) => scheme === "bearer" && parameters.has("realm"));
  if (bearer !== undefined) {
    const { parameters } = bearer;
    return {
      scheme: "bearer",
      realm: parameters.get("realm") ?? "",
      service: parameters.get("service") ?? null,
      scope: parameters.get("scope") ?? null,
    };
  }
  // Some servers send the scheme without a realm.
  const basic = found.some(({ scheme }) => scheme === "basic") || /(^|,)\s*basic\s*(,|$)/i.test(header ?? "");
  return basic ? { scheme: "basic" } : null;
}
