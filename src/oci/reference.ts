/** Image references, by the grammar of `distribution/reference`. Made only by {@link parseImageReference}. */

import { ImgmatchError } from "../errors.ts";
import { type Digest, isDigest } from "./digest.ts";

export interface ImageReference {
  /** Host with optional port; `docker.io` where the text names none. */
  readonly registry: string;
  /** Path inside the registry, `library/debian` for `debian`. */
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: Digest | null;
}

const dockerHub = "docker.io";
// The name that Docker Hub had before; old configurations still carry it.
const legacyDockerHub = "index.docker.io";
const officialPrefix = "library/";
const longestRepository = 255;

const hostComponent = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const hostPattern = new RegExp(
  `^(?:${hostComponent}(?:\\.${hostComponent})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`,
);
const plainName = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/i;
const pathComponent = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const repositoryPattern = new RegExp(`^${pathComponent}(?:/${pathComponent})*$`);
const tagPattern = /^\w[\w.-]{0,127}$/;
// RFC 1035, 2.3.4.
const longestHost = 253;
const longestShown = 300;
const longestLabel = 63;
const bareIdentifierPattern = /^[a-f0-9]{64}$/;

/**
 * Reads an image reference, as `docker pull` does: `debian` is `docker.io/library/debian`. No tag is made up where there is none.
 * Throws `REFERENCE_INVALID`. Grammar: github.com/distribution/reference, `regexp.go` and `normalize.go`; digests are sha256 only.
 *
 * @example
 * parseImageReference("localhost:5000/team/app:1.0");
 * // { registry: "localhost:5000", repository: "team/app", tag: "1.0", digest: null }
 */
export function parseImageReference(text: string): ImageReference {
  if (text === "") fail(text, "it is empty");
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) fail(text, "it begins like a URL", "leave out the scheme");
  const at = text.indexOf("@");
  const nameAndTag = at < 0 ? text : text.slice(0, at);
  const digest = at < 0 ? null : checkDigest(text, text.slice(at + 1));
  // Sixty-four hexadecimal digits are an image id to Docker, so they cannot be a name.
  if (bareIdentifierPattern.test(nameAndTag)) fail(text, "64 hexadecimal digits are an image id, not a name");

  const { registry, rest } = splitRegistry(nameAndTag);
  const colon = rest.indexOf(":");
  const repository = colon < 0 ? rest : rest.slice(0, colon);
  checkHost(text, registry);
  checkRepository(text, repository);
  const tag = colon < 0 ? null : checkTag(text, rest.slice(colon + 1));
  return { registry, repository, tag, digest };
}

/** Whether this names a repository and nothing more: no tag, no digest. A lock, an index and a matrix take nothing more. */
export function isRepository(text: string): boolean {
  try {
    const { tag, digest } = parseImageReference(text);
    return tag === null && digest === null;
  } catch {
    return false;
  }
}

/** A repository as it stands in a registry's addresses, without the registry. */
export function isRepositoryPath(text: string): boolean {
  return repositoryPattern.test(text) && text.length <= longestRepository;
}

export function isTag(text: string): boolean {
  return tagPattern.test(text);
}

/**
 * The shortest text that {@link parseImageReference} reads back as the same reference, as Docker prints it: `debian:12`,
 * `registry.example.com/app@sha256:…`.
 */
export function formatImageReference(reference: ImageReference): string {
  const tag = reference.tag === null ? "" : `:${reference.tag}`;
  const digest = reference.digest === null ? "" : `@${reference.digest}`;
  return `${formatRepository(reference)}${tag}${digest}`;
}

/** As `docker pull` takes one that names neither tag nor digest. */
export function withDefaultTag(reference: ImageReference): ImageReference {
  return reference.tag === null && reference.digest === null ? { ...reference, tag: "latest" } : reference;
}

/** Whether an engine takes it for an image's id, as long or as short as one is written. */
export function isImageId(text: string): boolean {
  return /^(sha256:)?[0-9a-f]{12,64}$/.test(text);
}

/** The same image under another tag, without digest. Throws `REFERENCE_INVALID`. */
export function withTag(reference: ImageReference, tag: string): ImageReference {
  return { ...reference, tag: checkTag(`${formatRepository(reference)}:${tag}`, tag), digest: null };
}

/** The same image by digest; its tag, if any, stays beside it. Throws `REFERENCE_INVALID`. */
export function withDigest(reference: ImageReference, digest: string): ImageReference {
  return { ...reference, digest: checkDigest(`${formatRepository(reference)}@${digest}`, digest) };
}

function splitRegistry(name: string): { registry: string; rest: string } {
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const remainder = name.slice(slash + 1);
  if (first === dockerHub || first === legacyDockerHub) {
    return { registry: dockerHub, rest: remainder.includes("/") ? remainder : officialPrefix + remainder };
  }
  if (slash < 0) return { registry: dockerHub, rest: officialPrefix + name };
  return isRegistry(first) ? { registry: first, rest: remainder } : { registry: dockerHub, rest: name };
}

/** Whether the first part of a name is a host. Upper case is not allowed in a repository, so it must be a host too. */
function isRegistry(first: string): boolean {
  return first === "localhost" || /[.:]/.test(first) || first.toLowerCase() !== first;
}

/** The repository alone, as {@link formatImageReference} writes it. */
export function formatRepository({ registry, repository }: ImageReference): string {
  if (registry !== dockerHub) return `${registry}/${repository}`;
  const official = repository.startsWith(officialPrefix) ? repository.slice(officialPrefix.length) : "";
  const familiar = official === "" || official.includes("/") ? repository : official;
  const slash = familiar.indexOf("/");
  const first = slash < 0 ? "" : familiar.slice(0, slash);
  // Docker drops docker.io here as well and then reads its own output as another registry, or as an image id.
  const ambiguous = isRegistry(first) || bareIdentifierPattern.test(familiar);
  return ambiguous ? `${dockerHub}/${familiar}` : familiar;
}

/**
 * The grammar takes hosts that are none: `256.1.1.1`, a port of 99999, `xn--a`. A host that is asked over http has to be an address as the
 * URL standard has it, and the same address: it reads `1.2.3` as 1.2.0.3.
 */
function checkHost(text: string, registry: string): void {
  if (!hostPattern.test(registry)) fail(text, `${quote(registry)} is not a registry host`);
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(registry) ?? [];
  if (port !== undefined && !(Number(port) >= 1 && Number(port) <= 65_535))
    fail(text, `${port} is not a port`, "a port is a number from 1 to 65535");
  if (host.length > longestHost || host.split(".").some((label) => label.length > longestLabel)) {
    const limit = `${longestHost} characters in all and ${longestLabel} between dots`;
    fail(text, `its registry host has ${host.length} characters`, `a host has at most ${limit}`);
  }
  // Names in plain letters are what they are; only a last part that is a number makes an IPv4 address (URL standard, host parsing).
  if (plainName.test(host) && !/xn--/i.test(host)) return;
  const address = `https://${host}/`;
  const read = URL.canParse(address) ? new URL(address).hostname : null;
  // One IPv6 address has many spellings.
  if (read === null || (!host.startsWith("[") && read !== host.toLowerCase()))
    fail(text, `${quote(host)} is not a registry host`, "use a name, or an IP address written in full");
}

function checkRepository(text: string, repository: string): void {
  const shown = quote(text.includes(repository) ? repository : repository.slice(officialPrefix.length));
  if (repository.toLowerCase() !== repository) {
    fail(text, `the repository ${shown} has upper-case letters`, "write it in lower case");
  }
  if (!repositoryPattern.test(repository)) {
    fail(
      text,
      `${shown} is not a repository`,
      "use lower-case letters and digits, joined by one of . _ __ - and divided by /",
    );
  }
  if (repository.length > longestRepository) {
    fail(
      text,
      `the repository has ${repository.length} characters, at most ${longestRepository} are allowed`,
    );
  }
}

function checkTag(text: string, tag: string): string {
  if (tagPattern.test(tag)) return tag;
  const length = tag.length > 128 ? ` of ${tag.length} characters` : "";
  return fail(
    text,
    `${quote(tag)} is not a tag${length}`,
    "a tag has 1 to 128 of the characters A-Z a-z 0-9 _ . - and does not begin with . or -",
  );
}

function checkDigest(text: string, digest: string): Digest {
  if (isDigest(digest)) return digest;
  return fail(
    text,
    `${quote(digest)} is not a digest`,
    "a digest is sha256: and 64 lower-case hexadecimal digits",
  );
}

function quote(text: string): string {
  return JSON.stringify(text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`);
}

function fail(text: string, what: string, fix = "write it as registry/repository:tag"): never {
  throw new ImgmatchError({
    code: "REFERENCE_INVALID",
    message: `${quote(text)} is not an image reference: ${what}`,
    fix,
  });
}
