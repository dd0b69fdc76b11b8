/** Turns what a registry answered, or did not answer, into one error with a code and the next step. */

import { ImgmatchError, type Problem } from "../errors.ts";
import { isRecord, parseJson } from "../oci/json.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import type { TransportError } from "./transport-error.ts";

type Asked = Pick<HttpRequest, "method" | "url">;

/** An answer that is neither success nor a plain absence: `REGISTRY_AUTH` for 401 and 403, else `REGISTRY_FAILED`. */
export function refused(request: Asked, response: HttpResponse): ImgmatchError {
  const { status } = response;
  const said = registryErrors(response.body);
  const tries = response.attempts > 1 ? ` after ${response.attempts} attempts` : "";
  const message = `${show(request)}: ${status} ${response.statusText}${said === "" ? "" : ` (${said})`}${tries}`;
  if (status === 401 || status === 403) {
    return new ImgmatchError({ code: "REGISTRY_AUTH", message, fix: authFix(request, status) });
  }
  return new ImgmatchError({ code: "REGISTRY_FAILED", message, fix: statusFix(status) });
}

/** No whole answer: `REGISTRY_UNREACHABLE`, or `INTERRUPTED` when the user stopped it. */
export function unreachable(request: Asked, error: TransportError, attempts: number): ImgmatchError {
  if (error.kind === "interrupted") {
    return new ImgmatchError(
      { code: "INTERRUPTED", message: `${show(request)}: interrupted` },
      { cause: error },
    );
  }
  const tries = attempts > 1 ? ` after ${attempts} attempts` : "";
  const code =
    error.kind === "tooLarge" || error.kind === "garbage" ? "REGISTRY_FAILED" : "REGISTRY_UNREACHABLE";
  const message = `${show(request)}: ${error.message}${tries}`;
  return new ImgmatchError({ code, message, fix: transportFix(request, error) }, { cause: error });
}

/** An answer with the right status and the wrong content. */
export function malformed(request: Asked, what: string): ImgmatchError {
  return problem({
    code: "REGISTRY_FAILED",
    message: `${show(request)}: ${what}`,
    fix: "check that this host is an OCI registry and that no proxy changes its answers",
  });
}

export function digestMismatch(request: Asked, what: string): ImgmatchError {
  return problem({
    code: "REGISTRY_DIGEST_MISMATCH",
    message: `${show(request)}: ${what}`,
    fix: "try again; if it stays so, the registry or a proxy before it holds damaged or changed content",
  });
}

export function authFailed(request: Asked, what: string): ImgmatchError {
  return problem({ code: "REGISTRY_AUTH", message: `${show(request)}: ${what}`, fix: authFix(request, 401) });
}

/** Method and address without the query, which may hold a signature. */
export function show({ method, url }: Asked): string {
  return `${method} ${url.origin}${url.pathname}`;
}

/** The codes of the distribution specification, `MANIFEST_INVALID: manifest invalid`, joined; empty when the body is something else. */
export function registryErrors(body: Uint8Array): string {
  const json = parseJson(body);
  if (!isRecord(json)) return "";
  const errors = Array.isArray(json.errors) ? json.errors : [];
  const said = errors
    .filter(isRecord)
    .map(({ code, message }) =>
      [code, message].filter((part) => typeof part === "string" && part !== "").join(": "),
    );
  // Token servers answer in the words of OAuth 2 or in one field of their own.
  const details = typeof json.details === "string" ? [json.details] : [];
  return printable([...said, ...details].join("; "));
}

function problem(found: Problem): ImgmatchError {
  return new ImgmatchError(found);
}

/** One line that cannot move a terminal's cursor, whatever the server sent. */
function printable(text: string): string {
  return text.replace(/\p{C}+/gu, " ").slice(0, 500);
}

function authFix({ url }: Asked, status: number): string {
  const login = url.host === "registry-1.docker.io" ? "docker login" : `docker login ${url.host}`;
  return status === 403
    ? `the login has no right to do this: run ${login} with one that has`
    : `run ${login}; check also that the repository exists, many registries answer so when it does not`;
}

function statusFix(status: number): string {
  if (status === 429) return "wait a while, or log in: registries allow more to known users";
  if (status === 404) return "check the repository's name";
  if (status >= 500) return "the registry is in trouble: try again later or look at its log";
  return "look at the registry's log for this request";
}

function transportFix({ url }: Asked, { kind }: TransportError): string {
  if (kind === "tls") {
    return "give the registry's certificate authority as PEM file, or allow plain http for this host if it has no TLS";
  }
  if (kind === "tooLarge" || kind === "garbage") return `check that ${url.host} is an OCI registry`;
  return `check that ${url.host} is the right host, is up and can be reached from here`;
}
