/** Turns a registry's refusal or silence into an error with a code and the next step. */

import type { ProblemCode } from "../../problem-codes.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import {
  isTemporaryStatus,
  RegistryError,
  type RegistryErrorEntry,
  type TransportError,
} from "./registry-error.ts";
import { type Digest, isDigest } from "../digest.ts";
import { printable } from "../../printable.ts";
import type { HttpRequest, HttpResponse, Scope } from "./transport.ts";

type Request = Pick<HttpRequest, "method" | "url" | "scope">;

/** An answer that is neither success nor a plain absence: `REGISTRY_AUTH` for 401 and 403, else `REGISTRY_FAILED`. */
export function refused(request: Request, response: HttpResponse): RegistryError {
  const { status } = response;
  const errors = registryErrors(response.body);
  const words = textOf(errors);
  const tries = response.attempts > 1 ? ` after ${response.attempts} attempts` : "";
  const message = `${show(request)}: ${status} ${printable(response.statusText).slice(0, 200)}${words === "" ? "" : ` (${words})`}${tries}`;
  const isLogin = status === 401 || status === 403;
  return new RegistryError(
    {
      code: isLogin ? "REGISTRY_AUTH" : "REGISTRY_FAILED",
      message,
      fix: isLogin ? authFix(request, status, response.loginBy) : statusFix(request, status, errors),
    },
    {
      status,
      errors,
      temporary: isTemporaryStatus(status, errors),
      // A gateway that gives up does not stop the registry behind it.
      unclear: status === 408 || status >= 500,
      retryAfterMs: retryAfterMs(response, Date.now()),
    },
  );
}

const codes: Readonly<Partial<Record<TransportError["kind"], ProblemCode>>> = {
  tooLarge: "REGISTRY_ANSWER_TOO_LARGE",
  garbage: "REGISTRY_FAILED",
};

/** No whole answer came: `REGISTRY_UNREACHABLE`, or `INTERRUPTED` if the user stopped it. */
export function unreachable(request: Request, error: TransportError, attempts: number): RegistryError {
  const { temporary } = error;
  // Without a connection nothing was sent. In every other case the request may have arrived.
  const unclear = error.kind !== "unreachable" && error.kind !== "tls";
  if (error.kind === "interrupted") {
    const problem = { code: "INTERRUPTED", message: `${show(request)}: interrupted` } as const;
    return new RegistryError(problem, { temporary, unclear }, { cause: error });
  }
  const tries = attempts > 1 ? ` after ${attempts} attempts` : "";
  const code = codes[error.kind] ?? "REGISTRY_UNREACHABLE";
  const message = `${show(request)}: ${error.message}${tries}`;
  const problem = { code, message, fix: transportFix(request, error) } as const;
  return new RegistryError(problem, { temporary, unclear }, { cause: error });
}

function failure(code: ProblemCode, fix: (request: Request) => string) {
  return (request: Request, what: string): RegistryError =>
    new RegistryError({ code, message: `${show(request)}: ${what}`, fix: fix(request) });
}

/** The answer has the right status and the wrong content. */
export const malformed = failure(
  "REGISTRY_FAILED",
  () => "check that the host is an OCI registry, and that no proxy changes the registry's answers",
);

const longFix =
  "check what answers under this name, and who wrote what names it: it is longer than it may be";

/** The answer, or a series of answers, is longer than the limits or its descriptor allow. */
export const tooLarge = failure("REGISTRY_ANSWER_TOO_LARGE", () => longFix);

export const digestMismatch = failure(
  "REGISTRY_DIGEST_MISMATCH",
  () => "try again; if it stays so, the registry or a proxy before it holds damaged or changed content",
);

/** Throws where the registry tells of other content than what was sent. */
export function requireStored(
  request: Request,
  digest: Digest,
  { headers }: Pick<HttpResponse, "headers">,
): void {
  const stored = headers["docker-content-digest"];
  if (isDigest(stored) && stored !== digest)
    throw digestMismatch(request, `expected ${digest}, the registry has stored ${stored}`);
}

export function authFailed(request: Request, what: string, loginBy?: HttpResponse["loginBy"]): RegistryError {
  return failure("REGISTRY_AUTH", () => authFix(request, 401, loginBy))(request, what);
}

/** The request was not done, and the tag may have changed meanwhile: the caller looks again. */
export function tookTooLong(request: Request): RegistryError {
  const message = `${show(request)}: 401, and a new token took too long`;
  return new RegistryError(
    { code: "REGISTRY_AUTH", message, fix: authFix(request, 401) },
    { status: 401, temporary: true },
  );
}

/** Method and address, without the query: it may hold a signature. */
function show({ method, url }: Request): string {
  return `${method} ${url.origin}${url.pathname}`;
}

/** The errors of the distribution specification; none for any other body. */
export function registryErrors(body: Uint8Array): readonly RegistryErrorEntry[] {
  const json = parseJson(body);
  if (!isRecord(json)) return [];
  const errors = (Array.isArray(json.errors) ? json.errors : []).filter(isRecord);
  const entries = errors.map(({ code, message }) => ({
    code: text(code) ?? "",
    message: text(message) ?? "",
  }));
  // Token servers answer in the words of OAuth 2 or in one field of their own.
  return typeof json.details === "string" ? [...entries, { code: "", message: json.details }] : entries;
}

/** `MANIFEST_INVALID: manifest invalid`, joined. */
function textOf(errors: readonly RegistryErrorEntry[]): string {
  const texts = errors.map(({ code, message }) => [code, message].filter((part) => part !== "").join(": "));
  return printable(texts.join("; ").slice(0, 500));
}

const rights: Readonly<Record<Scope["actions"], string>> = {
  pull: "pull from",
  "pull,push": "push to",
  "delete,pull": "delete from",
};

function authFix({ url, scope }: Request, status: number, loginBy?: HttpResponse["loginBy"]): string {
  const host =
    url.host === "registry-1.docker.io" ? (loginBy === "podman" ? " docker.io" : "") : ` ${url.host}`;
  const login = `${loginBy ?? "docker"} login${host}`;
  const right = scope === undefined ? "do this" : `${rights[scope.actions]} ${scope.repository}`;
  if (status === 403) return `the login has no right to ${right}: run ${login} with one that has`;
  const who = scope?.actions === "pull,push" ? ` with a login that may ${right}` : "";
  return `run ${login}${who}; check also that the repository exists, many registries answer so when it does not`;
}

const immutableFix =
  "the registry never changes a tag: leave the tags out of that rule which may change: those of versions whose index is to grow, of variants and channels, and imgmatch-* (an exclusion filter in ECR and Harbor)";

/** ECR and Harbor say it in words alone, with 400 and 412. */
function isImmutable(errors: readonly RegistryErrorEntry[]): boolean {
  return errors.some(({ message }) => /\bimmutable\b/i.test(message));
}

/** For a registry that makes no repository by a push, as ECR. */
export function createFix({ scope, url }: Request): string {
  return `create the repository ${scope?.repository ?? ""} in ${url.host}, or check its name`;
}

function statusFix(request: Request, status: number, errors: readonly RegistryErrorEntry[]): string {
  if (isImmutable(errors)) return immutableFix;
  if (errors.some(({ code }) => code === "NAME_UNKNOWN")) return createFix(request);
  if (status === 429) return "wait a while, or log in: registries allow more to known users";
  if (status === 404) return "check the repository's name";
  if (status >= 500) return "the registry is in trouble: try again later or look at its log";
  return "look at the registry's log for this request";
}

function transportFix({ url }: Request, { kind }: TransportError): string {
  if (kind === "tls") {
    return "give the registry's certificate authority as PEM file, or allow plain http for this host if it has no TLS";
  }
  if (kind === "tooLarge") return longFix;
  if (kind === "garbage") return `check that ${url.host} is an OCI registry`;
  return `check that ${url.host} is the right host, is up and can be reached from here`;
}

// A server may ask for an hour, and a build that waits so long looks hung.
const longestRetryAfterMs = 60_000;

/** Milliseconds to wait by the `Retry-After` header, seconds or a date (RFC 9110, 10.2.3): a minute at most, 0 without a valid header. */
export function retryAfterMs({ headers }: Pick<HttpResponse, "headers">, now: number): number {
  const text = headers["retry-after"]?.trim() ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}
